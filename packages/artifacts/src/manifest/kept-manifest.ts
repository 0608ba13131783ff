/**
 * Reads a cached manifest that was checked before: a start then neither parses YAML nor builds a schema (docs/adr/start-and-bundle.md "Checked
 * manifests are kept").
 */

import { lstatSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import type { SourceLocation } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { readTextBeneath } from '@svc/kit/files/read-beneath.ts';
import type { KeyPath } from './key-path.ts';
import type { LoadedManifest } from './loaded-manifest.ts';
import type { CapsuleManifest } from './schema.ts';
import { normalizeWorkdirPath } from './workdir-path.ts';

/** Where the cache of checked manifests lies, and whose it is. */
export interface ManifestKeeper {
  /** `~/.svc/cache`: a cache in a workspace could have come with it. */
  readonly directory: string;
  /** The user of this process; files of others count as none. */
  readonly uid: number;
  /** The build of the program that checks: what another build cached does not count. */
  readonly build: string;
}

/** Where the key and the value of a path stand: line, column, length. */
export type Places = Readonly<Record<string, { readonly key: Place; readonly value: Place }>>;
export type Place = readonly [line: number, column: number, length: number];

/** One file of the keeper. */
export interface KeptManifest {
  readonly build: string;
  /** The whole manifest: one that differs in a byte is read anew. */
  readonly text: string;
  readonly manifest: CapsuleManifest;
  /** The variable that `inference.api_key` refers to; null for a manifest without a key. The key itself is never kept. */
  readonly keyVariable: string | null;
  /** By path, as JSON. */
  readonly places: Places;
}

const maxName = 180;
/** The text of a manifest is at most 256 KiB; with its places it is some times as long. */
export const largestKept: number = 4 * 1024 * 1024;

/** The cached form of this very manifest. Returns null for one that has to be read, and where the variable of its key is not set. */
export function readKeptManifest(
  { directory, uid, build }: ManifestKeeper,
  { file, text, env }: { readonly file: string; readonly text: string; readonly env: Environment },
): LoadedManifest | null {
  const kept = readOwn(keptPath(directory, file), uid);
  if (kept === null || kept.build !== build || kept.text !== text) return null;
  const { manifest, keyVariable, places } = kept;
  const key = keyVariable !== null && Object.hasOwn(env, keyVariable) ? env[keyVariable] : undefined;
  if (keyVariable !== null && key === undefined) return null;
  const root = dirname(resolve(file));
  const systemPrompt = systemPromptOf(manifest, root);
  if (systemPrompt === null) return null;
  return {
    text,
    manifest,
    ...(key === undefined ? {} : { apiKey: new Secret(key) }),
    keyVariable,
    systemPrompt,
    warnings: [],
    references: [],
    file,
    directory: root,
    locate: (path, part) => placeIn(places, file, { path, part }),
  };
}

/** Names may collide: the content check distinguishes manifests. */
export function keptPath(directory: string, file: string): string {
  const name = resolve(file)
    .replaceAll(/[^A-Za-z0-9._-]/g, '_')
    .slice(-maxName);
  return join(directory, 'manifests', `${name}.json`);
}

/** Returns null if the file is missing, or another user may have written it: what it holds decides what a capsule may touch. */
function readOwn(path: string, uid: number): KeptManifest | null {
  try {
    const status = lstatSync(path);
    if (!status.isFile() || status.size > largestKept || status.uid !== uid || (status.mode & 0o022) !== 0) return null;
    const kept: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof kept === 'object' && kept !== null ? (kept as KeptManifest) : null;
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) !== undefined) return null;
    throw error;
  }
}

/** Returns null when the file that the manifest names cannot be read: a full reading says why. */
function systemPromptOf({ inference }: CapsuleManifest, directory: string): string | null {
  const { system_prompt: text, system_prompt_file: name } = inference;
  if (name === undefined) return text ?? '';
  const normal = normalizeWorkdirPath(name);
  const reading = normal === undefined ? null : readTextBeneath(directory, normal);
  return reading?.kind === 'text' ? (text ?? reading.text) : null;
}

/** As `YamlSource.locate`: the place of the nearest enclosing key that exists, when the path does not. */
function placeIn(
  places: Places,
  file: string,
  { path, part }: { readonly path: KeyPath; readonly part: 'key' | 'value' },
): SourceLocation {
  const exact = places[JSON.stringify(path)];
  if (exact !== undefined) return locationOf(file, exact[part]);
  for (let length = path.length - 1; length >= 0; length -= 1) {
    const enclosing = places[JSON.stringify(path.slice(0, length))];
    if (enclosing !== undefined) return locationOf(file, enclosing.key);
  }
  return { file, line: 1, column: 1, length: 1 };
}

function locationOf(file: string, [line, column, length]: Place): SourceLocation {
  return { file, line, column, length };
}
