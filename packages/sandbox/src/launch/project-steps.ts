/** Mounts a project folder in a composed root, with its masked places covered. */

import { join } from 'node:path';

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { mountAttribute, type RootStep } from './launch-plan.ts';
import type { ProcessGrants, ProjectFolder, RepositoryData } from './process-grants.ts';

/** The name of the project folder in the workdir. */
export const projectName = 'project';

const { readOnly, noSuid, noDev, noExec } = mountAttribute;

/** Where a composed root has the folder: git finds data that lies elsewhere from where the host has it. */
export function projectPlace({ path, git }: ProjectFolder, workdir: string): string {
  return git === null ? join(workdir, projectName) : path;
}

/** What lies around the folder is there to be seen by its names, and Landlock opens none of it. */
function repositorySteps(git: RepositoryData | null, owners: number, mayWrite: boolean): readonly RootStep[] {
  if (git === null) return [];
  const bind = (path: string, attributes: number): RootStep => ({
    kind: 'bind',
    attributes: attributes | owners | noSuid | noDev,
    source: path,
    target: path,
  });
  const access = noExec | (git.writable && mayWrite ? 0 : readOnly);
  return [
    ...(git.around === null ? [] : [bind(git.around, readOnly)]),
    bind(git.path, access),
    ...git.kept.map(({ path, writable }) => bind(join(git.path, path), access | (writable ? 0 : readOnly))),
  ];
}

/**
 * The project folder in the workdir, unless it is the workdir, which is mounted already; each place in it that is kept, mounted once more, which cannot be
 * renamed; and what covers its masked places: an empty directory, or a device that a mount without devices opens to nobody.
 */
export function projectSteps(
  { project, workdirExec, scope, writable }: ProcessGrants,
  workdir: string,
  owners: number,
): readonly RootStep[] {
  if (project === undefined) return [];
  const { isWorkdir } = project;
  const place = isWorkdir ? workdir : projectPlace(project, workdir);
  const isWritable = project.writable && writable;
  // If only a part of the workdir may be seen, what holds that part is that part.
  const seen = <Place extends { readonly path: string }>(places: readonly Place[]): readonly Place[] =>
    places.flatMap((each) => {
      if (!isWorkdir || scope === '.' || isBeneath(scope, each.path)) return [each];
      return isBeneath(each.path, scope) ? [{ ...each, path: scope }] : [];
    });
  const nothing = readOnly | noSuid | noDev | noExec;
  const attributes = owners | noSuid | noDev | (workdirExec ? 0 : noExec) | (isWritable ? 0 : readOnly);
  return [
    ...repositorySteps(project.git, owners, isWritable),
    ...(isWorkdir ? [] : [{ kind: 'bind', attributes, source: project.path, target: place } as const]),
    ...seen(project.kept).map(({ path, writable }): RootStep => {
      const [source, target] = [join(project.path, path), join(place, path)];
      return { kind: 'bind', attributes: attributes | (writable ? 0 : readOnly), source, target };
    }),
    ...seen(project.masked).map(({ path, isDirectory }): RootStep => {
      const target = join(place, path);
      if (isDirectory) return { kind: 'tmpfs', attributes: nothing, bytes: 4096, target };
      return { kind: 'bind', attributes: nothing, source: '/dev/null', target };
    }),
  ];
}
