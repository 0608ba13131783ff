/** Signs an archive, with a key or as the CI job that this is. */

import { resolve } from 'node:path';
import { createPublicKey } from 'node:crypto';

import { loadTrustPolicy } from '@svc/artifacts/manifest/trust-policy.ts';
import { ciIdentity, predicateOf } from '@svc/artifacts/store/trust/ci-identity.ts';
import {
  fingerprintOf,
  readPrivateKey,
  signStatementWithKey,
  signWithKey,
} from '@svc/artifacts/store/trust/key-pair.ts';
import { publicServices, signKeyless } from '@svc/artifacts/store/trust/sign-keyless.ts';
import type { Signer } from '@svc/artifacts/store/trust/signer.ts';
import { type Statement, vouched } from '@svc/artifacts/store/trust/statement.ts';
import { readTrustRoot } from '@svc/artifacts/store/trust/trust-root.ts';
import { BundleVerifier } from '@svc/artifacts/store/trust/verify-bundles.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { chunksOfFile } from '@svc/kit/files/regular-file.ts';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';

export interface SigningRequest {
  readonly path: string;
  /** The name of the file that users will have, for people who read the statement. */
  readonly fileName: string;
  readonly sha256: string;
  /** `--key`; without it the CI job signs. */
  readonly keyFile: string | undefined;
  readonly signal: AbortSignal;
}

export interface MadeSignature {
  readonly bundle: string;
  readonly signer: Signer;
  /** A bundle with a statement about other bytes, by the same signer. */
  readonly vouchFor: (subject: Pick<Statement, 'name' | 'sha256'>) => Promise<string>;
}

/** What the variable `SVC_KEY_PASSWORD` holds; null where it is empty. */
export function keyPassword({ env }: CommandContext): Secret | null {
  const { SVC_KEY_PASSWORD: password = '' } = env;
  return password === '' ? null : new Secret(password);
}

/** A signature of the archive at a path, and who made it. `E-REG-014` when it cannot be made. */
export async function makeSignature(request: SigningRequest, context: CommandContext): Promise<MadeSignature> {
  const { path, sha256, keyFile } = request;
  if (keyFile === undefined) return await signAsJob(request, context);
  const key = readPrivateKey(resolve(context.cwd, keyFile), keyPassword(context));
  const bundle = await signWithKey(chunksOfFile(path), sha256, key);
  return {
    bundle,
    signer: { kind: 'key', fingerprint: fingerprintOf(createPublicKey(key)) },
    vouchFor: async (subject) => signStatementWithKey({ ...subject, predicate: vouched }, key),
  };
}

async function signAsJob(request: SigningRequest, context: CommandContext): Promise<MadeSignature> {
  const { env, home } = context;
  const { path, fileName, sha256, signal } = request;
  const policy = loadTrustPolicy(home);
  const http = new HttpClient({ signal, proxyFor: (url) => proxyFor(url, env) });
  const authority = policy?.authority ?? publicServices.authority;
  const log = policy?.log ?? publicServices.log;
  const identity = await ciIdentity(env, http);
  const statement = { name: fileName, sha256, predicate: predicateOf(env) };
  const bundle = await signKeyless(statement, identity, { authority, log, http });
  // What nobody can verify is not published: the services may be others than those that the root names.
  const root = readTrustRoot(
    { root: policy?.root ?? null },
    { userHome: home, packageRoot: findPackageRoot(import.meta.filename) },
  );
  const archive = { sha256, chunks: () => chunksOfFile(path), bundles: [bundle] };
  const [verdict] = await new BundleVerifier(root, []).verify(archive, () => true);
  if (verdict?.kind === 'valid') {
    const vouchFor: MadeSignature['vouchFor'] = async (subject) =>
      await signKeyless({ ...subject, predicate: vouched }, identity, { authority, log, http });
    return { bundle, signer: verdict.signer, vouchFor };
  }
  throw new Diagnostic(
    'E-REG-014',
    `the signature that ${authority} and ${log} made does not hold: ${verdict?.reason}`,
    {
      hint: `${root.file} does not name these services; for a private instance set trust.root beside trust.authority and trust.log`,
    },
  );
}
