/** Takes the skills of a GitHub repository into a project: one by its folder, or all, and shows which there are. */

import {
  parseArtifactPlace,
  parsePinnedFolder,
  type RepositoryFolder,
  spellFolder,
} from '@svc/artifacts/manifest/artifact-place.ts';
import { type ReleaseRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import { readLock } from '@svc/artifacts/store/lockfile.ts';
import { refuse } from '@svc/artifacts/store/resolve.ts';
import { type FetchedFolder, fetchFolder } from '@svc/artifacts/store/sources/github-folder.ts';
import { fetchSkills, listSkills, type SkillOfRepository } from '@svc/artifacts/store/sources/github-skills.ts';
import { githubApiOf } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shellWord } from '@svc/kit/diagnostics/shell-word.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { say } from '@svc/terminal/screen/shown.ts';
import type { OpenedProject, PlannedChange } from './opened-project.ts';
import { planPlace } from './place-change.ts';

const longestDescription = 200;

/** The skill in one folder, which says what it is called; it is fetched once. */
export async function planSkill(at: RepositoryFolder, opened: OpenedProject): Promise<PlannedChange> {
  return await planFetched(at, await fetchFolder(at, githubApiOf(at.repo, opened.choice)), opened);
}

/**
 * `svc add --all`: every skill of the repository, fetched once. `E-ART-008` for names that meet, those of entries from elsewhere included, and without a
 * skill; else what is wrong with any of them.
 */
export async function planAllSkills(release: ReleaseRef, opened: OpenedProject): Promise<readonly PlannedChange[]> {
  const repository = repositoryOf(release);
  if (repository === null) throw noSkills(release);
  const found = await fetchSkills(repository, githubApiOf(repository.repo, opened.choice));
  if (found.length === 0) throw noSkills(release);
  const taken = new Map<string, string>(
    opened.listed.flatMap(({ name, from }) =>
      found.some(({ at }) => from !== undefined && isOtherRef(from, at)) ? [] : [[name, 'svc.yaml']],
    ),
  );
  const plan: PlannedChange[] = [];
  const faults: Diagnostic[] = [];
  for (const { at, ...fetched } of found) {
    const { name } = fetched.ref;
    const other = taken.get(name);
    taken.set(name, at.folder);
    if (other === undefined) plan.push(await planFetched(at, fetched, opened));
    else
      faults.push(
        new Diagnostic('E-ART-008', `${spellFolder(at)} would be listed as ${name}, a name that ${other} has already`, {
          hint: 'nothing was written: svc add each of the other skills by its folder',
        }),
      );
  }
  refuse(faults);
  return plan;
}

/** Shows the skills of a repository that has no such release, and throws `E-ART-008`, which says how they are added; `absent` where it has none. */
export async function showSkills(release: ReleaseRef, absent: Diagnostic, opened: OpenedProject): Promise<never> {
  const repository = repositoryOf(release);
  if (repository === null) throw absent;
  const { skills, more } = await skillsOrNone(repository, opened);
  const [first] = skills;
  if (first === undefined) throw absent;
  const { stdout } = opened.context;
  if (opened.options.json !== true) {
    for (const each of skills) for (const line of linesOf(each)) stdout.write(say`${line}\n`);
    if (more > 0) stdout.write(say`and ${more} more\n`);
  }
  const what = `github:${repository.repo}@${repository.ref}`;
  const has = skills.length + more === 1 ? 'one skill' : `${skills.length + more} skills`;
  throw new Diagnostic('E-ART-008', `${what} is no release with artifacts, but has ${has}: nothing was added`, {
    hint: `svc add ${shellWord(spellFolder(first.at))} adds one; svc add ${shellWord(what)} --all adds all`,
  });
}

async function skillsOrNone(
  repository: Omit<RepositoryFolder, 'folder'>,
  { choice }: OpenedProject,
): Promise<{ readonly skills: readonly SkillOfRepository[]; readonly more: number }> {
  try {
    return await listSkills(repository, githubApiOf(repository.repo, choice));
  } catch (error) {
    // There is no such tag, branch or commit: what is said of the release says enough.
    if (error instanceof Diagnostic && error.code === 'E-REG-001') return { skills: [], more: 0 };
    throw error;
  }
}

function linesOf(skill: SkillOfRepository): readonly string[] {
  const { at } = skill;
  if ('fault' in skill) return [`${at.folder}: ${inertLine(skill.fault.message, longestDescription)}`];
  const description = inertLine(skill.description, longestDescription);
  return [`${skill.name} in ${at.folder}: ${description}`, `  svc add ${shellWord(spellFolder(at))}`];
}

/** Returns null for a tag that is no tag, branch or commit, such as `..`. */
function repositoryOf({ owner, repo, tag }: ReleaseRef): Omit<RepositoryFolder, 'folder'> | null {
  const place = parseArtifactPlace(`github:${owner}/${repo}@${tag}#.`);
  return place?.kind === 'folder' ? { repo: place.at.repo, ref: place.at.ref } : null;
}

function noSkills({ owner, repo, tag }: ReleaseRef): Diagnostic {
  return new Diagnostic('E-ART-008', `github:${owner}/${repo}@${tag} has no folder with SKILL.md`, {
    hint: 'without --all, svc add takes the archives of that release',
  });
}

/** Whether an entry comes from the same folder, at whatever tag. */
function isOtherRef(from: string, at: RepositoryFolder): boolean {
  const hash = from.indexOf('#');
  return from.startsWith(`github:${at.repo}@`) && hash > 0 && from.slice(hash + 1) === at.folder;
}

async function planFetched(
  at: RepositoryFolder,
  { ref, archiveFor }: FetchedFolder,
  opened: OpenedProject,
): Promise<PlannedChange> {
  const from = spellFolder(at);
  const change = planPlace(ref, from, opened, 'skill');
  const movesPlace = await movesTo(from, { ref, archiveFor }, opened);
  return { ...change, source: { name: from, fetch: archiveFor }, mayTake: () => false, movesPlace };
}

/** Whether an entry of this version moves to another tag with the same files. `E-REG-005` where the files are others. */
async function movesTo(from: string, { ref, archiveFor }: FetchedFolder, opened: OpenedProject): Promise<boolean> {
  const present = opened.listed.find(({ name, version }) => name === ref.name && version === ref.version);
  if (present?.from === undefined || present.from === from) return false;
  const locked = readLock(opened.request.manifestDir)?.find((each) => spell(each) === spell(ref));
  if (locked?.from === undefined || parsePinnedFolder(locked.from) === null) return false;
  const now = await archiveFor(ref);
  now.discard();
  if (now.sha256 === locked.sha256) return true;
  throw new Diagnostic(
    'E-REG-005',
    `${from} has other files than ${present.from}, and the same version, ${ref.version}`,
    {
      hint: `svc remove ${ref.name}, then svc add ${shellWord(from)}, takes them; better, its author gives SKILL.md a new version`,
    },
  );
}
