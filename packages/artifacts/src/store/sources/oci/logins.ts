/** Finds the login that docker or podman keeps for a registry. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';

import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { readTextIfThere } from '@svc/kit/files/read-text.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import type { OciRepositoryName } from '../../../manifest/oci-reference.ts';

/** What a registry, or the service that gives out its tokens, is shown. */
export type OciLogin =
  | { readonly kind: 'password'; readonly pair: Secret }
  /** An identity token, to be changed for tokens. */
  | { readonly kind: 'identity'; readonly token: Secret };

const helperWithinMs = 30_000;
const maxHelperBytes = 64 * 1024;
const helperName = /^[a-z0-9][a-z0-9-]{0,99}$/;

const entry = z.object({ auth: z.optional(z.string()), identitytoken: z.optional(z.string()) });

const loginFile = z.object({
  auths: z.optional(z.record(z.string(), entry)),
  credHelpers: z.optional(z.record(z.string(), z.string())),
  credsStore: z.optional(z.string()),
});

type LoginFile = z.infer<typeof loginFile>;

const helperAnswer = z.object({ Username: z.string(), Secret: z.string() });

/** Where logins are looked for. */
export interface LoginPlaces {
  readonly env: Environment;
  readonly home: string;
}

/** Reads the token of a configured source: `<user>:<password>`, or a password. */
export function loginOfToken(token: Secret): OciLogin {
  const text = token.reveal();
  return passwordLogin(text.includes(':') ? text : `svc:${text}`);
}

/**
 * The login for a repository: of the first of `REGISTRY_AUTH_FILE`, `DOCKER_CONFIG`, podman's and docker's own file that has one. Returns null where nobody
 * has logged in. `E-IO-001` for a file that cannot be read, `E-REG-006` for one that cannot be understood or whose helper fails.
 */
export async function findLogin(name: OciRepositoryName, places: LoginPlaces): Promise<OciLogin | null> {
  for (const path of loginFiles(places)) {
    const text = readTextIfThere(path);
    if (text === null) continue;
    const read = loginFile.safeParse(parseJson(text), { jitless: true });
    if (!read.success) throw new Diagnostic('E-REG-006', `the logins in ${path} cannot be understood`);
    const login = await loginIn(read.data, name, places);
    if (login !== null) return login;
  }
  return null;
}

function loginFiles({ env, home }: LoginPlaces): readonly string[] {
  const { REGISTRY_AUTH_FILE: named = '', DOCKER_CONFIG: docker = '', XDG_RUNTIME_DIR: runtime = '' } = env;
  return [
    ...(named === '' ? [] : [named]),
    ...(docker === '' ? [] : [join(docker, 'config.json')]),
    ...(runtime === '' ? [] : [join(runtime, 'containers', 'auth.json')]),
    join(home, '.config', 'containers', 'auth.json'),
    ...(docker === '' ? [join(home, '.docker', 'config.json')] : []),
  ];
}

async function loginIn(file: LoginFile, name: OciRepositoryName, { env }: LoginPlaces): Promise<OciLogin | null> {
  const keys = keysOf(name);
  const helper = keys.map((key) => own(file.credHelpers, key)).find((found) => found !== undefined) ?? file.credsStore;
  if (helper !== undefined && helper !== '') {
    const told = await askHelper(helper, serverOf(name), env);
    if (told !== null) return told;
  }
  const found = keys.map((key) => own(file.auths, key)).find((each) => each !== undefined);
  if (found === undefined) return null;
  if (found.identitytoken !== undefined && found.identitytoken !== '')
    return { kind: 'identity', token: new Secret(found.identitytoken) };
  if (found.auth === undefined || found.auth === '') return null;
  const pair = Buffer.from(found.auth, 'base64').toString('utf8');
  return pair.includes(':') ? passwordLogin(pair) : null;
}

function own<Value>(record: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

/** podman keeps logins for parts of a registry as well: the longest that fits is first. */
function keysOf({ host, repository }: OciRepositoryName): readonly string[] {
  const parts = repository.split('/');
  const paths = parts.map((_, index) => `${host}/${parts.slice(0, parts.length - index).join('/')}`);
  const hub = host === 'docker.io' ? [hubServer, 'index.docker.io'] : [];
  return [...paths, host, `https://${host}`, `https://${host}/`, ...hub];
}

const hubServer = 'https://index.docker.io/v1/';

function serverOf({ host }: OciRepositoryName): string {
  return host === 'docker.io' ? hubServer : host;
}

function passwordLogin(pair: string): OciLogin {
  return { kind: 'password', pair: new Secret(Buffer.from(pair).toString('base64')) };
}

/** Returns null where the helper has no login. What it says is shown to nobody: it may hold what it keeps. */
async function askHelper(helper: string, server: string, env: Environment): Promise<OciLogin | null> {
  if (!helperName.test(helper))
    throw new Diagnostic('E-REG-006', 'a login helper is named that cannot be one: small letters, digits and hyphens');
  const program = `docker-credential-${helper}`;
  const answer = await runHelper(program, server, env);
  if (answer === null) return null;
  const read = helperAnswer.safeParse(parseJson(answer));
  if (!read.success) throw new Diagnostic('E-REG-006', `${program} answers something that is no login`);
  const { Username: user, Secret: secret } = read.data;
  return user === '<token>' ? { kind: 'identity', token: new Secret(secret) } : passwordLogin(`${user}:${secret}`);
}

async function runHelper(program: string, server: string, env: Environment): Promise<string | null> {
  return await new Promise<string | null>((resolve, reject) => {
    const options = { env, timeout: helperWithinMs, maxBuffer: maxHelperBytes, killSignal: 'SIGKILL' } as const;
    const child = execFile(program, ['get'], options, (error, stdout) => {
      if (error === null) return resolve(stdout);
      // So all helpers say that they have none.
      if (/credentials not found/.test(stdout)) return resolve(null);
      const why =
        error.code === 'ENOENT'
          ? 'is not installed'
          : error.killed === true
            ? 'did not answer in 30 seconds'
            : 'failed';
      reject(new Diagnostic('E-REG-006', `${program}, which keeps the login for ${server}, ${why}`, { cause: error }));
    });
    // A helper that ended without reading says what went wrong by its code.
    child.stdin?.on('error', () => {});
    child.stdin?.end(server);
  });
}
