/** Knows the secrets that collectors of telemetry are shown. */

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { decodePercent } from '@svc/protocol/strict-utf8.ts';
import { shortestGranted } from './session-secrets.ts';

const headersVariable = /^OTEL_EXPORTER_OTLP_(?:(?:TRACES|METRICS|LOGS)_)?HEADERS$/;

/** The values of the headers that a collector is shown, as they are written and as they are sent, and a token without the scheme before it. */
export function headerSecrets(env: Environment): readonly Secret[] {
  const names = Object.keys(env).filter((name) => headersVariable.test(name));
  const written = names.flatMap((name) =>
    (env[name] ?? '').split(',').map((pair) => pair.slice(pair.indexOf('=') + 1)),
  );
  return (
    written
      // What is not percent-encoded as it should be is sent to nobody.
      .flatMap((value) => [value, decodePercent(value) ?? value])
      .flatMap((value) => [value, value.trim().split(/\s+/).at(-1) ?? ''])
      .map((value) => value.trim())
      .filter((value) => value.length >= shortestGranted)
      .map((value) => new Secret(value))
  );
}
