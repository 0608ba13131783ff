/** Keeps manifests that were read and checked for the next start of the same capsule (docs/adr/start-and-bundle.md "Checked manifests are kept"). */

import { readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { KeyPath } from './key-path.ts';
import {
  type KeptManifest,
  keptPath,
  largestKept,
  type ManifestKeeper,
  type Place,
  type Places,
} from './kept-manifest.ts';
import type { YamlSource } from './yaml-source.ts';

/** So many are kept: the next one removes all others. */
const maxKept = 200;
const maxPlaces = 2_000;

/** What `keepManifest` is given beside the keeper. */
interface ManifestToKeep extends Omit<KeptManifest, 'build' | 'places'> {
  /** Each of its paths has a place. */
  readonly source: YamlSource;
}

/** Keeps a manifest that was read without a warning. Where it cannot be kept, the next start reads it again, and nothing else changes. */
export function keepManifest({ directory, build }: ManifestKeeper, { source, ...kept }: ManifestToKeep): void {
  const places = placesOf(source);
  if (places === null) return;
  const bytes = Buffer.from(JSON.stringify({ build, ...kept, places } satisfies KeptManifest));
  if (bytes.length > largestKept) return;
  const path = keptPath(directory, source.file);
  unlessRefused(() => {
    makeDirectories(dirname(path), 0o700);
    const others = readdirSync(dirname(path));
    if (others.length >= maxKept) for (const name of others) rmSync(join(dirname(path), name), { force: true });
    replaceFileSync(path, bytes, { mode: 0o600, isDurable: false });
  }, undefined);
}

/** Returns null for a file of more than two thousand keys and items: each is looked up among its neighbours. */
function placesOf(source: YamlSource): Places | null {
  const places: Record<string, { key: Place; value: Place }> = {};
  const pending: { readonly value: unknown; readonly path: KeyPath }[] = [{ value: source.value, path: [] }];
  for (const { value, path } of pending) {
    const placeOf = (part: 'key' | 'value'): Place => {
      const { line, column, length = 1 } = source.locate(path, part);
      return [line, column, length];
    };
    places[JSON.stringify(path)] = { key: placeOf('key'), value: placeOf('value') };
    if (Array.isArray(value))
      pending.push(...value.map((item: unknown, index) => ({ value: item, path: [...path, index] })));
    else if (typeof value === 'object' && value !== null)
      pending.push(...Object.entries(value).map(([key, item]) => ({ value: item as unknown, path: [...path, key] })));
    if (pending.length > maxPlaces) return null;
  }
  return places;
}
