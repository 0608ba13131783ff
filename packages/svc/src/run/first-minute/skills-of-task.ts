/** Finds the skills for a task without a manifest: those of its folder, then those of the home directory. */

import { join } from 'node:path';
import { arch, platform } from 'node:process';

import { runtimeTools } from '@svc/artifacts/manifest/names.ts';
import { platformOf } from '@svc/artifacts/store/artifact-ref.ts';
import {
  type DiscoveredSkills,
  discoverSkills,
  skillsOn,
  usualSkillFolders,
} from '@svc/artifacts/store/discovered-skills.ts';
import { editor } from './capsule-text.ts';

interface SkillSearch {
  /** The folder of the task, and the home directory. */
  readonly folder: string;
  readonly home: string;
  readonly packageRoot: string;
}

/** The skills that are taken, or else how many there are, of which it reads nothing. `names` are those of what else the model can call. */
export async function skillsOfTask(
  isAsked: boolean,
  { folder, home, packageRoot }: SkillSearch,
  names: readonly string[],
): Promise<Pick<DiscoveredSkills, 'skills' | 'warnings'> & { readonly untaken: number }> {
  const shelves = [
    ...usualSkillFolders.map((each) => ({ directory: join(folder, each), within: folder })),
    ...usualSkillFolders.map((each) => ({ directory: join(home, each), within: null })),
  ];
  if (!isAsked) return { skills: [], warnings: [], untaken: skillsOn(shelves).length };
  const places = { manifestDir: folder, userHome: home, packageRoot, platform: platformOf({ platform, arch }) };
  const taken = new Set([...names, ...runtimeTools, editor]);
  return { ...(await discoverSkills(shelves, taken, { ...places, sources: () => [] })), untaken: 0 };
}
