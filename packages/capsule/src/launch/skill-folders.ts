/** Checks the standard skill folders of a capsule before its port is bound, and knows the place that they have in a workdir. */

import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import type { InstalledArtifact, SkillFolder } from '@svc/artifacts/store/installed-artifact.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames } from '@svc/kit/diagnostics/printable.ts';
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
 * `W-RUN-210` for what does nothing here: scripts that no command runs, in one warning, and each skill that nobody can call. Throws `E-RUN-210` for a named workdir in which something else has the name of the skills.
 */
export function checkSkills(
  artifacts: readonly InstalledArtifact[],
  grants: Pick<EffectiveGrants, 'shellAllow' | 'filesystemScope'>,
  workdir: string | null,
): readonly Diagnostic[] {
  const skills = folderSkills(artifacts);
  if (skills.length === 0) return [];
  if (workdir !== null) refuseTaken(realPath(workdir), grants.filesystemScope ?? '.');
  const lacking = skills.flatMap(({ manifest: { name }, skill }) => {
    const commands = Object.values(skill.scripts).filter((each) => !grants.shellAllow.includes(each));
    return commands.length === 0 ? [] : [{ name, commands }];
  });
  const ofNobody = skills.filter(({ skill }) => skill.callers === 'nobody').map(({ manifest: { name } }) => name);
  return [...(lacking.length === 0 ? [] : [notRun(lacking)]), ...ofNobody.map(calledByNobody)];
}

const mostNamed = 20;

function notRun(skills: readonly { readonly name: string; readonly commands: readonly string[] }[]): Diagnostic {
  const names = skills.map(({ name }) => name);
  const commands = firstNames([...new Set(skills.flatMap((each) => each.commands))].sort(), mostNamed);
  const [who, have] = names.length === 1 ? ['skill', 'has'] : ['skills', 'have'];
  const message = `the ${who} ${firstNames(names, mostNamed)} ${have} scripts for ${commands}, which capabilities.shell.allow does not list: they cannot be run`;
  return new Diagnostic('W-RUN-210', message, { hint: `add ${commands} to capabilities.shell.allow to run them` });
}

function calledByNobody(name: string): Diagnostic {
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
