/** Shows a folder of `svc` to programs in their part of the workdir: they may read it, and execute nothing in it. */

import { join } from 'node:path';

import { mountAttribute, type RootStep } from './launch-plan.ts';

export interface ShownFolder {
  /** On the host, links resolved; what runs in the session cannot write there. */
  readonly path: string;
  /** The name in the part of the workdir: a directory there, which is mounted over, or a link to `path` where nothing can be mounted. */
  readonly name: string;
}

/** What a launch says of it. */
interface ShownGrant {
  readonly shown?: ShownFolder;
  readonly scope: string;
}

const { readOnly, noSuid, noDev, noExec } = mountAttribute;

/** Mounted after the workdir, in which it lies. */
export function shownSteps({ shown, scope }: ShownGrant, workdir: string, owners: number): readonly RootStep[] {
  if (shown === undefined) return [];
  const target = join(workdir, scope, shown.name);
  return [{ kind: 'bind', attributes: owners | readOnly | noSuid | noDev | noExec, source: shown.path, target }];
}

/** The place that has to be readable: of a composed root that in the workdir. */
export function shownReads({ shown, scope }: ShownGrant, workdir: string, isSealed: boolean): readonly string[] {
  if (shown === undefined) return [];
  return [isSealed ? join(workdir, scope, shown.name) : shown.path];
}
