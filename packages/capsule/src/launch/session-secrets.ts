/** Knows the secrets of a session, which no record and no report may hold (docs/journal.md "Secrets"). */

import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import { authSecrets } from '@svc/artifacts/manifest/server-auth.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { isHeaderValue } from '@svc/protocol/header-syntax.ts';
import type { GivenSecrets } from './unfit-secrets.ts';

export interface KnownSecrets {
  /** The key of the provider. */
  readonly apiKey: Secret | null;
  /** The keys of `capabilities.credentials`. */
  readonly credentials?: LoadedManifest['credentials'];
  readonly listenerToken: Secret | null;
  readonly grants: Pick<EffectiveGrants, 'envAllow'>;
  /** Values that the manifest takes from variables, such as a header for the driver. */
  readonly references: LoadedManifest['references'];
  /** The process environment over the `.env` file. */
  readonly env: Environment;
  /** Secrets in headers to collectors of telemetry, and to proxies. */
  readonly headers: readonly Secret[];
  /** Entries whose `auth` names what MCP servers on the web are shown; none when absent. */
  readonly artifacts?: LoadedManifest['manifest']['artifacts'];
}

/** Takes out the session's own keys and tokens, and the values of variables with secret-like names that programs and manifest get. */
export async function sessionRedactor({
  apiKey,
  credentials = new Map(),
  listenerToken,
  headers,
  artifacts = [],
  ...given
}: KnownSecrets): Promise<Redactor> {
  const redactor = new Redactor();
  const own = [apiKey, ...credentials.values(), listenerToken, ...authSecrets(artifacts, given.env)];
  for (const secret of [...own, ...givenSecrets(given), ...headers]) {
    if (secret !== null) redactor.register(secret);
  }
  if (redactor.knowsAny) await redactor.learnSpellings();
  return redactor;
}

/** `SVC_LISTENER_TOKEN` of the process environment; null where it is absent or empty. */
export function listenerTokenOf(env: Environment): Secret | null {
  const token = env['SVC_LISTENER_TOKEN'] ?? '';
  return token === '' ? null : new Secret(token);
}

/** A variable with such a name counts as a secret. */
const secretName = /KEY|TOKEN|SECRET|PASSWORD/i;
/** Shortest value of such a variable: `true`, `1` or `enabled` would be taken out of every text. */
export const shortestGranted = 8;

/**
 * `E-MAN-003` for a key that no request can carry; `W-RUN-174` for a key or a token that anybody could guess, or that a text may hold by chance, and for a
 * key that is empty.
 */
export async function faultsOfSecrets(
  given: GivenSecrets,
): Promise<{ readonly refusals: readonly Diagnostic[]; readonly warnings: readonly Diagnostic[] }> {
  const { loaded, listenerToken } = given;
  const { inference } = loaded.manifest;
  const isShort = [loaded.apiKey, listenerToken].some(
    (secret) => secret != null && secret.reveal().length < shortestGranted,
  );
  const isSent = inference.transport === 'http' && inference.endpoint !== undefined;
  // `svc` itself sends the key, in the header of a request.
  const isUnsendable = isSent && loaded.apiKey !== undefined && !isHeaderValue(loaded.apiKey.reveal());
  if (!isShort && !isUnsendable) return { refusals: [], warnings: [] };
  const { shortSecretWarnings, unsendableKey } = await import('./unfit-secrets.ts');
  return {
    refusals: isUnsendable ? [unsendableKey(loaded)] : [],
    warnings: isShort ? shortSecretWarnings(given, shortestGranted) : [],
  };
}

/** A value of several lines counts line by line too. */
function givenSecrets({
  grants,
  references,
  env,
}: Pick<KnownSecrets, 'grants' | 'references' | 'env'>): readonly Secret[] {
  const granted = grants.envAllow.map((variable) => ({ variable, value: env[variable] }));
  const values = [...granted, ...references]
    .filter(({ variable }) => secretName.test(variable))
    .map(({ value = '' }) => value);
  const lines = values.flatMap((value) => value.split(/\r?\n/));
  return [...values, ...lines]
    .map((value) => value.trim())
    .filter((value) => value.length >= shortestGranted)
    .map((value) => new Secret(value));
}
