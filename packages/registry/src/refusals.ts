/** The refusals of the registry, with their status codes and words. */

import { spell, type ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HttpRefusal, kitRefusal } from '@svc/kit/http/refusal.ts';
import { parseStatePath } from './paths.ts';

/** The registry's refusals in D3's words: `error` is what a client shows or recognises, `message` says what to do (D3 "Registry"). */
export function badInput(error: string, message: string): HttpRefusal {
  return new HttpRefusal(400, error, message);
}

/** The client knows this one by its text (D3 "Registry" publish, `422`). */
export function reservedVersion(version: string): HttpRefusal {
  return new HttpRefusal(
    422,
    'reserved artifact version is not allowed',
    `${version} names no artifact. Publish an exact version.`,
  );
}

/** `platform` is what of the version is there already, null for the generic file (D3 "Versioning" 4, docs/protocol.md "The registry"). */
export function alreadyThere(ref: ArtifactRef, platform: string | null): HttpRefusal {
  const what = platform === null ? spell(ref) : `${spell(ref)} for ${platform}`;
  return new HttpRefusal(
    409,
    `artifact already exists: ${what}`,
    'What is published never changes. Publish a new version.',
  );
}

/** `platform` is the one that was asked for, null when the generic file was (D3 "Registry" download, `404`). */
export function notFound(asked: string, platform: string | null): HttpRefusal {
  const what = platform === null ? asked : `${asked} for platform ${platform}`;
  return new HttpRefusal(404, `artifact not found: ${what}`, 'GET /v1/artifacts lists what there is.');
}

/** A client without support for signatures gets the same for any unknown path. */
export function signaturesNotFound(): HttpRefusal {
  const message = 'Signatures are at /v1/signatures/ and the SHA-256 of the archive in lowercase hex.';
  return new HttpRefusal(404, 'no signature for this archive', message);
}

/** `reason` is what was said when it was blocked. */
export function blocked(ref: ArtifactRef, reason: string | null): HttpRefusal {
  return new HttpRefusal(410, `artifact is blocked: ${spell(ref)}`, reason ?? 'The registry gives no reason.');
}

/** The build of this server leaves the part out. */
export function leftOut({ code, message, hint }: Diagnostic): HttpRefusal {
  return new HttpRefusal(501, message, `${hint} (${code}).`);
}

/** A method that is not for this path. */
export function notServed(path: string): HttpRefusal {
  const allow = parseStatePath(path) === null ? 'GET, HEAD' : 'PUT';
  return kitRefusal('method_not_allowed', `This path takes ${allow}.`, { allow });
}

export function tooSlow(message: string): HttpRefusal {
  return kitRefusal('body_too_slow', message);
}

export function diskFull(): HttpRefusal {
  return new HttpRefusal(507, 'insufficient_storage', 'The registry has no space left. Nothing was stored.');
}

/** Nothing is wrong with the request: the same one may succeed a moment later. */
export function storeUnavailable(): HttpRefusal {
  const message = 'The registry cannot reach its store. Try again.';
  return new HttpRefusal(503, 'store_unavailable', message, { 'retry-after': '5' });
}

export function ioError(): HttpRefusal {
  return new HttpRefusal(500, 'io_error', 'The registry could not read or write its store. Its log says why.');
}
