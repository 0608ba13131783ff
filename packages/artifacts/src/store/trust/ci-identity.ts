/** Finds out who a CI job is, and what it says of how an archive was made. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import type { HttpClient } from '@svc/kit/net/http-client.ts';
import { asJsonObject, parseJson, parseJsonObject } from '@svc/protocol/json-object.ts';
import { type Predicate, vouched } from './statement.ts';

/** Whom certificates are made for. */
const audience = 'sigstore';
const largestToken = 64 * 1024;

/** A token that says who this job is, and the claim of it that a certificate names. */
export interface IdentityToken {
  readonly token: Secret;
  readonly subject: string;
}

/**
 * The OIDC token of this job: `SIGSTORE_ID_TOKEN`, which GitLab and others set, else the one that GitHub Actions gives. `E-REG-014` if it is missing
 * or no such token.
 */
export async function ciIdentity(env: Environment, http: HttpClient): Promise<IdentityToken> {
  const { SIGSTORE_ID_TOKEN: own = '' } = env;
  const token = own === '' ? await askGithub(env, http) : own;
  if (token === null) {
    throw new Diagnostic('E-REG-014', 'there is nobody to sign for: this is no CI job that has an identity token', {
      hint: 'sign with --key <file>; on GitHub, give the job permissions: id-token: write; elsewhere, set SIGSTORE_ID_TOKEN',
    });
  }
  const subject = subjectOf(token);
  if (subject !== null) return { token: new Secret(token), subject };
  const where = own === '' ? 'what GitHub Actions gives' : 'SIGSTORE_ID_TOKEN';
  throw new Diagnostic('E-REG-014', `${where} is no identity token`, {
    hint: `it must be a JWT for the audience ${audience}`,
  });
}

async function askGithub(env: Environment, http: HttpClient): Promise<string | null> {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address = '', ACTIONS_ID_TOKEN_REQUEST_TOKEN: key = '' } = env;
  if (address === '' || key === '') return null;
  // GitHub gives one with a query.
  const fault = endpointFault(address.replace(/\?.*$/, ''));
  if (fault !== undefined) throw new Diagnostic('E-REG-014', `ACTIONS_ID_TOKEN_REQUEST_URL ${fault}`);
  const url = new URL(address);
  url.searchParams.set('audience', audience);
  const answer = await http.send({ label: 'the identity provider of GitHub Actions', url, key: new Secret(key) });
  const text = answer.status === 200 ? await answer.text(largestToken) : null;
  answer.discard();
  const value = parseJsonObject(text ?? '')?.['value'];
  return typeof value === 'string' ? value : '';
}

/** Where people sign in, a certificate names their address. */
const issuersOfPeople: ReadonlySet<unknown> = new Set([
  'https://accounts.google.com',
  'https://oauth2.sigstore.dev/auth',
]);

function subjectOf(token: string): string | null {
  const [, payload = '', ...rest] = token.split('.');
  const claims = rest.length === 1 ? asJsonObject(parseJson(Buffer.from(payload, 'base64url').toString('utf8'))) : null;
  const subject = issuersOfPeople.has(claims?.['iss']) ? claims?.['email'] : claims?.['sub'];
  return typeof subject === 'string' && subject !== '' ? subject : null;
}

/** How this job made the archive, as SLSA provenance where it is one of GitHub Actions; elsewhere only that it is signed. */
export function predicateOf(env: Environment): Predicate {
  const { GITHUB_ACTIONS: isGithub, GITHUB_WORKFLOW_REF: workflow = '', GITHUB_REPOSITORY: repository = '' } = env;
  if (isGithub !== 'true' || workflow === '' || repository === '') return vouched;
  const { GITHUB_SERVER_URL: server = 'https://github.com', GITHUB_REF: gitRef = '', GITHUB_SHA: gitCommit = '' } = env;
  const [path = '', ref = ''] = workflow.slice(repository.length + 1).split('@');
  const place = `${server}/${repository}`;
  const run = `${env['GITHUB_RUN_ID'] ?? ''}/attempts/${env['GITHUB_RUN_ATTEMPT'] ?? ''}`;
  return {
    type: 'https://slsa.dev/provenance/v1',
    content: {
      buildDefinition: {
        buildType: 'https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1',
        externalParameters: { workflow: { ref, repository: place, path } },
        internalParameters: {
          github: {
            event_name: env['GITHUB_EVENT_NAME'] ?? '',
            repository_id: env['GITHUB_REPOSITORY_ID'] ?? '',
            repository_owner_id: env['GITHUB_REPOSITORY_OWNER_ID'] ?? '',
          },
        },
        resolvedDependencies: [{ uri: `git+${place}@${gitRef}`, digest: { gitCommit } }],
      },
      runDetails: {
        builder: { id: `${server}/actions/runner/${env['RUNNER_ENVIRONMENT'] ?? ''}` },
        metadata: { invocationId: `${place}/actions/runs/${run}` },
      },
    },
  };
}
