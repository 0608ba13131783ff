/** Opens skill folders that an earlier start has read: while no file of them has changed, none is read again. */

import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { parseJsonObject } from '@svc/protocol/json-object.ts';
import type { FoundArtifact } from './installed-artifact.ts';
import type { SourceEntry } from './open-source.ts';
import { type FilePrint, foundSkill, isSkillFolder, type SkillFacts, skillFiles } from './skill-folder.ts';
import type { StorePlaces } from './store-places.ts';

/** So many are kept: the next one removes all others. */
const maxKept = 500;
const maxFileName = 180;

interface KeptSkill {
  readonly build: string;
  readonly directory: string;
  readonly files: readonly FilePrint[];
  readonly facts: SkillFacts;
}

/** What was opened when an entry was made of it. */
const opened = new WeakMap<SourceEntry, FoundArtifact>();

/** The next `openSkill` of this entry gives that, and looks at no file. */
export function handOver(entry: SourceEntry, found: FoundArtifact): void {
  opened.set(entry, found);
}

/** As `openSource`, for an entry that is a skill. What was kept has the hash that it had when it was read, whatever is in the folder since. */
export async function openSkill(entry: SourceEntry, places: StorePlaces): Promise<FoundArtifact> {
  const handed = opened.get(entry);
  opened.delete(entry);
  if (handed !== undefined) return handed;
  const { build } = places;
  const directory = resolve(places.manifestDir, entry.source);
  const path = keptPath(places, directory);
  const files = build !== undefined && isSkillFolder(directory) ? skillFiles(directory) : null;
  const kept = files === null ? null : readKept(path, { build: build ?? '', directory, files, entry });
  if (kept !== null) return { ...kept, ...(await admitted(kept, { entry, places })) };
  const { openSource } = await import('./open-source.ts');
  const found = await openSource(entry, places);
  if (build !== undefined && files !== null && found.skill !== undefined) {
    const { manifest, sha256, skill } = found;
    const { readAll: _, ...known } = skill;
    const ref = { name: manifest.name, version: manifest.version };
    keep(path, { build, directory, files, facts: { ref, description: manifest.description, sha256, skill: known } });
  }
  return found;
}

async function admitted(
  kept: FoundArtifact,
  { entry: { name, version }, places }: { readonly entry: SourceEntry; readonly places: StorePlaces },
): Promise<Pick<FoundArtifact, 'admission'>> {
  // A policy stands there or nowhere; without one there is nobody to ask.
  if (!existsSync(join(places.userHome, '.svc', 'config.yaml'))) return { admission: { kind: 'unchecked' } };
  const { admitSource } = await import('./trust/admit-stored.ts');
  const archive = { ref: { name, version }, sha256: kept.sha256, chunks: () => kept.archive(), path: null };
  return { admission: await admitSource(archive, places) };
}

/** Names may collide: the directory in the file distinguishes folders. */
function keptPath({ userHome }: StorePlaces, directory: string): string {
  const name = directory.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(-maxFileName);
  return join(userHome, '.svc', 'cache', 'skills', `${name}.json`);
}

function readKept(path: string, now: Omit<KeptSkill, 'facts'> & { readonly entry: SourceEntry }): FoundArtifact | null {
  const reading = readSmallText(path);
  const kept = reading.kind === 'text' ? (parseJsonObject(reading.text) as KeptSkill | null) : null;
  if (kept === null || kept.build !== now.build || kept.directory !== now.directory) return null;
  if (JSON.stringify(kept.files) !== JSON.stringify(now.files)) return null;
  // The name is that of the entry, and so is the version of a file that names none.
  const { ref } = kept.facts;
  const isSame = ref.name === now.entry.name && ref.version === now.entry.version;
  return isSame ? foundSkill(now.directory, kept.facts) : null;
}

/** What cannot be kept is read again by the next start. */
function keep(path: string, kept: KeptSkill): void {
  unlessRefused(() => {
    makeDirectories(dirname(path), 0o700);
    const others = readdirSync(dirname(path));
    if (others.length >= maxKept) for (const name of others) rmSync(join(dirname(path), name), { force: true });
    replaceFileSync(path, Buffer.from(JSON.stringify(kept)), { mode: 0o600, isDurable: false });
  }, undefined);
}
