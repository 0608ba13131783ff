/** Opens skill folders that an earlier start has read: while nothing in them has changed, none of their files is read again. */

import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { parseJsonObject } from '@svc/protocol/json-object.ts';
import type { FoundArtifact } from './installed-artifact.ts';
import type { SourceEntry } from './open-source.ts';
import { type FilePrint, foundSkill, hasPrints, isSkillFolder, printsOf, type SkillFacts } from './skill-folder.ts';
import type { StorePlaces } from './store-places.ts';

/** So many capsules have a file: the next one removes all others. */
const mostFiles = 500;
const maxFileName = 180;
const mostBytes = 4 * 1024 * 1024;
/** More than what stands around the skills of a file. */
const frameBytes = 1024;
const mostSkills = 256;

interface KeptSkill {
  /** Absolute. */
  readonly directory: string;
  readonly prints: readonly FilePrint[];
  readonly facts: SkillFacts;
}

/** What is kept of the skills of the manifests in one folder. */
interface KeptFile {
  readonly build: string;
  readonly manifestDir: string;
  readonly skills: readonly KeptSkill[];
}

/** What was opened when an entry was made of it. */
const opened = new WeakMap<SourceEntry, FoundArtifact>();

/** The next `open` of this entry gives that, and looks at no file. */
export function handOver(entry: SourceEntry, found: FoundArtifact): void {
  opened.set(entry, found);
}

/** Opens the skills of a capsule, whose manifest `places` names. All that is kept of them is one file, read once and written by `keep`. */
export class KeptSkills {
  readonly #places: StorePlaces;
  readonly #path: string;
  /** By directory; of earlier starts until this one opens them. */
  readonly #kept: Map<string, KeptSkill>;
  readonly #used = new Set<string>();
  readonly #hasPolicy: boolean;
  #isNew = false;

  constructor(places: StorePlaces) {
    this.#places = places;
    this.#path = keptPath(places);
    this.#kept = new Map(readKept(this.#path, places).map((each) => [each.directory, each]));
    // A policy stands there or nowhere; without one there is nobody to ask.
    this.#hasPolicy = existsSync(join(places.userHome, '.svc', 'config.yaml'));
  }

  /** As `openSource`, for an entry that is a skill. What was kept has the hash that it had when it was read, whatever is in the folder since. */
  async open(entry: SourceEntry): Promise<FoundArtifact> {
    const handed = opened.get(entry);
    opened.delete(entry);
    if (handed !== undefined) return handed;
    const directory = resolve(this.#places.manifestDir, entry.source);
    const kept = this.#kept.get(directory);
    this.#used.add(directory);
    if (kept !== undefined && isOf(entry, kept) && hasPrints(directory, kept.prints)) {
      const found = foundSkill(directory, kept.facts);
      return { ...found, ...(await this.#admitted(entry, found)) };
    }
    this.#kept.delete(directory);
    const prints = this.#places.build !== undefined && isSkillFolder(directory) ? printsOf(directory) : null;
    const { openSource } = await import('./open-source.ts');
    const found = await openSource(entry, this.#places);
    if (prints !== null && found.skill !== undefined) {
      const { manifest, sha256, skill } = found;
      const { readAll: _, ...known } = skill;
      const ref = { name: manifest.name, version: manifest.version };
      const facts = { ref, description: manifest.description, sha256, skill: known };
      this.#kept.set(directory, { directory, prints, facts });
      this.#isNew = true;
    }
    return found;
  }

  /** Keeps what was read. What cannot be kept, or finds no room, is read again by the next start. */
  keep(): void {
    const { build, manifestDir } = this.#places;
    if (!this.#isNew || build === undefined) return;
    this.#isNew = false;
    let room = mostBytes - manifestDir.length - frameBytes;
    const skills = this.#inOrder().filter((each) => {
      const bytes = Buffer.byteLength(JSON.stringify(each)) + 1;
      if (bytes > room) return false;
      room -= bytes;
      return true;
    });
    const file: KeptFile = { build, manifestDir, skills };
    unlessRefused(() => write(this.#path, Buffer.from(JSON.stringify(file))), undefined);
  }

  /** The skills of this start first, then those of other manifests in the same folder that are still there. */
  #inOrder(): readonly KeptSkill[] {
    const all = [...this.#kept.values()];
    const others = all.filter(({ directory }) => !this.#used.has(directory) && isSkillFolder(directory));
    return [...all.filter(({ directory }) => this.#used.has(directory)), ...others].slice(0, mostSkills);
  }

  async #admitted({ name, version }: SourceEntry, found: FoundArtifact): Promise<Pick<FoundArtifact, 'admission'>> {
    if (!this.#hasPolicy) return { admission: { kind: 'unchecked' } };
    const { admitSource } = await import('./trust/admit-stored.ts');
    const asked = { ref: { name, version }, sha256: found.sha256, chunks: () => found.archive(), path: null };
    return { admission: await admitSource(asked, this.#places) };
  }
}

/** The name is that of the entry, and so is the version of a file that names none. */
function isOf({ name, version }: SourceEntry, { facts: { ref } }: KeptSkill): boolean {
  return ref.name === name && ref.version === version;
}

/** Names may collide: the directory in the file distinguishes folders. */
function keptPath({ userHome, manifestDir }: StorePlaces): string {
  const name = manifestDir.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(-maxFileName);
  return join(userHome, '.svc', 'cache', 'skills', `${name}.json`);
}

function readKept(path: string, { build, manifestDir }: StorePlaces): readonly KeptSkill[] {
  if (build === undefined) return [];
  const bytes = unlessRefused(() => readFileUpTo(path, mostBytes), undefined);
  const kept = bytes === undefined ? null : (parseJsonObject(bytes.toString('utf8')) as KeptFile | null);
  const isOurs = kept?.build === build && kept.manifestDir === manifestDir && Array.isArray(kept.skills);
  return isOurs ? kept.skills : [];
}

function write(path: string, bytes: Buffer): void {
  makeDirectories(dirname(path), 0o700);
  const others = readdirSync(dirname(path));
  if (others.length >= mostFiles) for (const name of others) rmSync(join(dirname(path), name), { force: true });
  replaceFileSync(path, bytes, { mode: 0o600, isDurable: false });
}
