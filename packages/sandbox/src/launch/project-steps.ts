/** Mounts a project folder in a composed root, with its masked places covered. */

import { join } from 'node:path';

import { mountAttribute, type RootStep } from './launch-plan.ts';
import type { ProcessGrants } from './process-grants.ts';

/** The name of the project folder in the workdir. */
export const projectName = 'project';

const { readOnly, noSuid, noDev, noExec } = mountAttribute;

/**
 * The project folder in the workdir; each place in it that is kept, mounted once more, which cannot be renamed; and what covers its masked places: an empty directory, or a device that a mount without devices
 * opens to nobody.
 */
export function projectSteps(
  { project, workdirExec }: ProcessGrants,
  workdir: string,
  owners: number,
): readonly RootStep[] {
  if (project === undefined) return [];
  const place = join(workdir, projectName);
  const nothing = readOnly | noSuid | noDev | noExec;
  const attributes = owners | noSuid | noDev | (workdirExec ? 0 : noExec) | (project.writable ? 0 : readOnly);
  return [
    { kind: 'bind', attributes, source: project.path, target: place },
    ...project.kept.map(({ path, writable }): RootStep => {
      const [source, target] = [join(project.path, path), join(place, path)];
      return { kind: 'bind', attributes: attributes | (writable ? 0 : readOnly), source, target };
    }),
    ...project.masked.map(({ path, isDirectory }): RootStep => {
      const target = join(place, path);
      if (isDirectory) return { kind: 'tmpfs', attributes: nothing, bytes: 4096, target };
      return { kind: 'bind', attributes: nothing, source: '/dev/null', target };
    }),
  ];
}
