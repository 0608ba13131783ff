/** Names the parts of a manifest that has one archive, and reads which. */

import { asJsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';

export const configType = 'application/vnd.svc.artifact.config.v1+json';
export const archiveType = 'application/vnd.svc.artifact.archive.v1+zip';

/** The SHA-256 of the archive that a manifest has as its one layer; null for any other bytes. */
export function archiveNamedBy(manifest: Uint8Array): string | null {
  const text = decodeStrictUtf8(manifest);
  const { config, layers } = (text === null ? null : parseJsonObject(text)) ?? {};
  const [layer, ...more] = Array.isArray(layers) ? layers.map(asJsonObject) : [];
  if (asJsonObject(config)?.['mediaType'] !== configType || layer?.['mediaType'] !== archiveType || more.length > 0)
    return null;
  const [, sha256 = null] = /^sha256:([0-9a-f]{64})$/.exec(String(layer['digest'])) ?? [];
  return sha256;
}
