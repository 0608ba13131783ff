/** Finds standard skill folders where people keep them. */

import { type Dir, opendirSync, realpathSync } from 'node:fs';
import { basename, join, relative } from 'node:path';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames, quoted } from '@svc/kit/diagnostics/printable.ts';
import { isMaskedName } from '@svc/kit/files/masked-names.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { declaredArtifacts } from '../manifest/declared-artifacts.ts';
import type { LoadedManifest } from '../manifest/loaded-manifest.ts';
import { fittedName, runtimeTools } from '../manifest/names.ts';
import { commandWith } from './lock-faults.ts';
import type { LockedArtifact } from './lockfile.ts';
import type { FoundArtifact } from './installed-artifact.ts';
import type { KeptSkills } from './kept-skills.ts';
import { isSkillFolder } from './skill-folder.ts';
import type { StorePlaces } from './store-places.ts';

/** Where other agents look for skills, below a project and below the home directory. */
export const usualSkillFolders: readonly string[] = ['.agents/skills', '.claude/skills'];

/** Each is a tool of the model. */
const mostSkills = 128;
const mostLookedAt = 2000;
/** So many names a warning has. */
const mostNamed = 10;

/** A folder whose children may be skills. */
export interface SkillShelf {
  /** Absolute. */
  readonly directory: string;
  /** The folder that no link may lead out of; null where links may lead anywhere. */
  readonly within: string | null;
}

/** A skill as an entry of a manifest names it. */
export interface DiscoveredSkill {
  readonly name: string;
  readonly version: string;
  /** Absolute. */
  readonly source: string;
}

interface OpenedSkill extends DiscoveredSkill {
  readonly found: FoundArtifact;
}

export interface DiscoveredSkills {
  readonly skills: readonly OpenedSkill[];
  readonly warnings: readonly Diagnostic[];
  /** Names. */
  readonly unrecorded: readonly string[];
}

const unnamedVersion = '0.0.0';

/** The folders with a `SKILL.md` on these shelves, in their order, sorted on each, of the first 2,000 entries that the system names. Nothing in them is read. */
export function skillsOn(shelves: readonly SkillShelf[]): readonly string[] {
  return foldersOn(shelves).flatMap(({ folder, leadsOut }) => (leadsOut ? [] : [folder]));
}

function foldersOn(shelves: readonly SkillShelf[]): readonly { readonly folder: string; readonly leadsOut: boolean }[] {
  return shelves.flatMap(({ directory, within }) => {
    const root = within === null ? null : unlessRefused(() => realpathSync(within), null);
    return entriesOf(directory)
      .map((name) => join(directory, name))
      .filter(isSkillFolder)
      .map((folder) => ({ folder, leadsOut: within !== null && !leadsInto(folder, root) }));
  });
}

/** The first 2,000 that the system gives, sorted. A fuller directory takes no longer to read. */
function entriesOf(directory: string): readonly string[] {
  const opened = unlessRefused(() => opendirSync(directory), null);
  if (opened === null) return [];
  try {
    const names: string[] = [];
    for (let entry = nextIn(opened); entry !== null && names.length < mostLookedAt; entry = nextIn(opened))
      names.push(entry);
    return names.sort();
  } finally {
    opened.closeSync();
  }
}

function nextIn(directory: Dir): string | null {
  return unlessRefused(() => directory.readSync()?.name ?? null, null);
}

function leadsInto(folder: string, root: string | null): boolean {
  const real = unlessRefused(() => realpathSync(folder), null);
  return root !== null && real !== null && isBeneath(root, real);
}

/**
 * The skills on these shelves under the names of their folders, each looked at whole. Gives `W-RUN-211` for what is left out, each of the first five and one for all others: a
 * folder that is no good skill or has what is masked, one whose name `taken` has, two different ones of one name, and all beyond 128. The same skill on two shelves counts once.
 * With a `lock`, nothing is read of those whose names it does not record, which are `unrecorded`.
 */
export async function discoverSkills(
  shelves: readonly SkillShelf[],
  taken: ReadonlySet<string>,
  places: StorePlaces,
  lock: readonly LockedArtifact[] | null = null,
): Promise<DiscoveredSkills> {
  const found = new Map<string, OpenedSkill>();
  const met = new Set<string>();
  const unrecorded = new Set<string>();
  const left: LeftOut[] = [];
  const leave = (folder: string, why: string): void => void left.push({ folder, why });
  let kept: KeptSkills | null = null;
  for (const { folder: source, leadsOut } of foldersOn(shelves)) {
    const name = fittedName(basename(source));
    const recorded = lock?.find((locked) => locked.name === name);
    if (name !== null && taken.has(name)) leave(source, `${name} is the name of something else in this capsule`);
    else if (lock !== null && recorded === undefined) unrecorded.add(name ?? quoted(basename(source)));
    else if (name === null) leave(source, 'its name has no letter or digit');
    else if (leadsOut) leave(source, 'a link to it leads out of the folder');
    else if (found.size === mostSkills) leave(source, `there are ${mostSkills} before it`);
    else {
      kept ??= new (await import('./kept-skills.ts')).KeptSkills(places);
      const opened = await opening({ name, version: recorded?.version ?? unnamedVersion, source }, kept);
      if (opened instanceof Diagnostic) {
        leave(source, opened.message);
        continue;
      }
      const other = found.get(name);
      if (other === undefined) found.set(name, opened);
      else if (other.found.sha256 !== opened.found.sha256) {
        met.add(name);
        leave(source, `${other.source} has the same name, and is left out too`);
      }
    }
  }
  kept?.keep();
  const skills = [...found.values()].filter(({ name }) => !met.has(name));
  return { skills, warnings: warningsOf(left), unrecorded: [...unrecorded] };
}

/** `version` counts where `SKILL.md` names none. */
async function opening(
  { name, version, source }: DiscoveredSkill,
  kept: KeptSkills,
): Promise<OpenedSkill | Diagnostic> {
  try {
    const found = await kept.open({ name, version, source });
    const { manifest, skill } = found;
    const masked = skill?.files.find((file) => file.split('/').some(isMaskedName));
    if (masked !== undefined) return new Diagnostic('E-ART-002', `it has ${quoted(masked)}, which no task is shown`);
    return { name, version: manifest.version, source, found };
  } catch (error) {
    const fault = error instanceof DiagnosticList ? error.diagnostics[0] : error;
    if (fault instanceof Diagnostic) return fault;
    throw error;
  }
}

interface LeftOut {
  readonly folder: string;
  readonly why: string;
}

/** So many have a warning of their own; one warning more names others. */
const mostExplained = 5;

function warningsOf(left: readonly LeftOut[]): readonly Diagnostic[] {
  const rest = left.slice(mostExplained).map(({ folder }) => quoted(folder));
  const explained = left.slice(0, mostExplained).map(leftOut);
  if (rest.length === 0) return explained;
  const who = rest.length === 1 ? 'one more skill is' : `${rest.length} more skills are`;
  const more = new Diagnostic('W-RUN-211', `${who} left out: ${firstNames(rest, mostNamed)}`, {
    hint: 'mend or remove what is named first; svc info ./<folder> shows what is read of one',
  });
  return [...explained, more];
}

function leftOut({ folder, why }: LeftOut): Diagnostic {
  return new Diagnostic('W-RUN-211', `the skill in ${quoted(folder)} is left out: ${why}`, {
    hint: 'mend it, give its folder another name, or remove it; svc info ./<folder> shows what is read of it',
  });
}

/**
 * A manifest with the skills that `skills.discover` stands for as entries behind its own. With a `lock`, those alone that it records: `W-RUN-211` names the others, beside what
 * `discoverSkills` leaves out.
 */
export async function withDiscovered(
  loaded: LoadedManifest,
  places: StorePlaces,
  lock: readonly LockedArtifact[] | null = null,
): Promise<{ readonly loaded: LoadedManifest; readonly warnings: readonly Diagnostic[] }> {
  const { manifest, file, directory } = loaded;
  if (manifest.skills === undefined) return { loaded, warnings: [] };
  const names = declaredArtifacts(manifest).map(({ name }) => name);
  const taken = new Set([...names, ...(manifest.capabilities.shell?.allow ?? []), ...runtimeTools]);
  const { skills, warnings, unrecorded } = await discoverSkills(shelvesOf(loaded), taken, places, lock);
  const entries = skills.map(({ name, version, source }) => {
    return { name, version, runtime: 'skill', source: `./${relative(directory, source)}`, discovered: true } as const;
  });
  if (skills.length > 0) {
    const { handOver } = await import('./kept-skills.ts');
    for (const [at, entry] of entries.entries()) if (skills[at] !== undefined) handOver(entry, skills[at].found);
  }
  return {
    loaded: { ...loaded, manifest: { ...manifest, artifacts: [...manifest.artifacts, ...entries] } },
    warnings: unrecorded.length === 0 ? warnings : [...warnings, notRecorded(unrecorded, file)],
  };
}

/** The folder that a name of `skills.discover` leads to; null without one. */
export function discoveredFolder(loaded: LoadedManifest, name: string): string | null {
  return skillsOn(shelvesOf(loaded)).find((folder) => fittedName(basename(folder)) === name) ?? null;
}

function shelvesOf({ manifest, directory }: LoadedManifest): readonly SkillShelf[] {
  return (manifest.skills?.discover ?? []).map((each) => ({ directory: join(directory, each), within: directory }));
}

function notRecorded(names: readonly string[], file: string): Diagnostic {
  const shown = firstNames(names, mostNamed);
  return new Diagnostic('W-RUN-211', `skills are left out that svc.lock does not record: ${shown}`, {
    hint: `${commandWith('svc install', file)} records them, or says why not; svc info ./<folder> shows one first`,
  });
}

/** `W-RUN-211` for the archive of a capsule, in which no such folder comes along. */
export function notInArchive(file: string): Diagnostic {
  return new Diagnostic('W-RUN-211', `skills.discover of ${file} finds nothing in an archive`, {
    hint: 'publish the skills that the capsule needs, each with svc.yaml and skill.md, and list them in artifacts',
  });
}
