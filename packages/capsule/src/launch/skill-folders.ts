/** Checks the standard skill folders of a capsule before its port is bound, and knows the place that they have in a workdir. */

import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import type { InstalledArtifact, SkillFolder } from '@svc/artifacts/store/installed-artifact.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { realPath } from '@svc/record/sessions/session-directories.ts';

/** The name of the folders in the part of the workdir that programs see. */
export const skillsName = '.skills';

/** A skill whose folder holds `SKILL.md`. */
export type FolderArtifact = InstalledArtifact & { readonly skill: SkillFolder };

/** The skills among artifacts whose folders hold `SKILL.md`. */
export function folderSkills(artifacts: readonly InstalledArtifact[]): readonly FolderArtifact[] {
  return artifacts.filter((each): each is FolderArtifact => each.skill !== undefined);
}

/**
 * `W-RUN-210` for each part of a skill that does nothing here: scripts that no command runs, and a skill that nobody can call. Throws `E-RUN-210` for a named workdir in which something else has the name of the skills.
 */
export function checkSkills(
  artifacts: readonly InstalledArtifact[],
  grants: Pick<EffectiveGrants, 'shellAllow' | 'filesystemScope'>,
  workdir: string | null,
): readonly Diagnostic[] {
  const skills = folderSkills(artifacts);
  if (skills.length === 0) return [];
  if (workdir !== null) refuseTaken(realPath(workdir), grants.filesystemScope ?? '.');
  return skills.flatMap(({ manifest: { name }, skill }) => {
    const wanted = [...new Set(Object.values(skill.scripts))].sort();
    const lacking = wanted.filter((each) => !grants.shellAllow.includes(each));
    const warnings = lacking.length === 0 ? [] : [notRun(name, lacking)];
    if (skill.callers === 'nobody') warnings.push(ofNobody(name));
    return warnings;
  });
}

function notRun(name: string, lacking: readonly string[]): Diagnostic {
  const message = `the skill ${name} has scripts for ${lacking.join(', ')}, which capabilities.shell.allow does not list: they cannot be run`;
  return new Diagnostic('W-RUN-210', message, {
    hint: `add ${lacking.join(', ')} to capabilities.shell.allow to run them`,
  });
}

function ofNobody(name: string): Diagnostic {
  const message = `the skill ${name} says disable-model-invocation and user-invocable: false, so that nobody can call it`;
  return new Diagnostic('W-RUN-210', message, {
    hint: 'take one of the two lines out of its SKILL.md, or remove the skill',
  });
}

/** A place that a person has filled. Nothing has been made. */
function refuseTaken(workdir: string, scope: string): void {
  const place = join(workdir, scope, skillsName);
  const found = lstatSync(place, { throwIfNoEntry: false });
  if (found === undefined || isOwnLink(place)) return;
  const isEmpty = found.isDirectory() && unlessRefused(() => readdirSync(place).length === 0, false);
  if (!isEmpty) throw takenPlace(place);
}

/** Whether an earlier session has left a link there. */
export function isOwnLink(place: string): boolean {
  const target = unlessRefused(() => readlinkSync(place), null);
  return target !== null && /\/\.svc\/sessions\/[^/]+\/skills$/.test(target);
}

/** `E-RUN-210` for what has the name of the skills. */
export function takenPlace(place: string): Diagnostic {
  return new Diagnostic('E-RUN-210', `${place} is not the place of skills: something else has its name`, {
    hint: `move it away, or name another workdir: programs see the files of skills as ${skillsName}/`,
  });
}
