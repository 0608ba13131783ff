/** Shows what skills ask for that svc.lock does not record of them, and refuses a list that lets more through than the recorded one. */

import { skillWords } from '@svc/artifacts/manifest/chosen-tools.ts';
import { spell } from '@svc/artifacts/store/artifact-ref.ts';
import type { InstallRequest } from '@svc/artifacts/store/install.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { LockedArtifact, LockedSkill } from '@svc/artifacts/store/lockfile.ts';
import { refuse } from '@svc/artifacts/store/resolve.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstLines } from '@svc/kit/diagnostics/printable.ts';
import { coversEverywhere } from '@svc/session/tools/skills/list-covers.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { say } from '@svc/terminal/screen/shown.ts';

/** Longer differences are cut. */
const mostLines = 50;
const longestLine = 200;

/** `onSkills` of an install: `E-REG-016` for each skill whose list is wider than the recorded one, unless `acceptsTools`. */
export function skillJudge({ stderr }: CommandContext, acceptsTools: boolean): InstallRequest['onSkills'] {
  return async (skills, lock) => {
    const faults: Diagnostic[] = [];
    for (const found of skills) {
      const before = recordOf(found, lock);
      if (before?.sha256 === found.sha256) continue;
      for (const line of differences(found, before?.skill)) stderr.write(say`${line}\n`);
      if (before !== null && !acceptsTools) faults.push(...widerThan(before, found));
    }
    refuse(faults);
    await Promise.resolve();
  };
}

/** What the lock says of this version, else of the one that it had before. */
function recordOf(
  { manifest: { name, version } }: InstalledArtifact,
  lock: readonly LockedArtifact[],
): LockedArtifact | null {
  const known = lock.filter((locked) => locked.name === name);
  return known.find((locked) => locked.version === version) ?? known[0] ?? null;
}

/** A line for each word of its list, script and need that goes (`-`) or comes (`+`). */
function differences({ manifest, skill }: InstalledArtifact, before: LockedSkill | undefined): readonly string[] {
  const old = new Set(before === undefined ? [] : askedLines(before));
  const now = new Set(skill === undefined ? [] : askedLines(skill));
  const isLifted = skill?.allowed === null && (before?.allowed ?? null) !== null;
  const lines = [
    ...[...old].filter((line) => !now.has(line)).map((line) => `- ${line}`),
    ...[...now].filter((line) => !old.has(line)).map((line) => `+ ${line}`),
    ...(isLifted ? ['+ all that the capsule grants, without allowed-tools'] : []),
  ];
  if (lines.length === 0) return [];
  const shown = firstLines(lines, mostLines).map((line) => `  ${inertLine(line, longestLine)}`);
  return [`the skill ${spell(manifest)} asks for`, ...shown];
}

function askedLines({ allowed, scripts, compatibility }: LockedSkill): readonly string[] {
  return [
    ...(allowed ?? []),
    ...Object.entries(scripts).map(([file, program]) => `${program} for ${file}`),
    ...(compatibility === null ? [] : [`compatibility: ${compatibility}`]),
  ];
}

/** The operator's own list stands in the place of the file's. */
function widerThan(before: LockedArtifact, { manifest, entry, skill }: InstalledArtifact): readonly Diagnostic[] {
  const tools = skillWords(entry);
  if (skill === undefined || tools === 'capsule') return [];
  if (before.skill !== undefined) {
    const [old, now] = [before.skill, skill].map(({ allowed, scripts }) => ({ words: tools ?? allowed, scripts }));
    if (old === undefined || now === undefined || coversEverywhere(old, now)) return [];
  }
  const why =
    before.skill === undefined
      ? 'has changed, and svc.lock does not say what it asked for before'
      : 'lets more through than svc.lock records';
  return [
    new Diagnostic('E-REG-016', `the skill ${spell(manifest)} ${why}`, {
      hint: 'look at what it asks for; --accept-tools of svc install and add records it',
    }),
  ];
}
