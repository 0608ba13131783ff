/** The protocols that a capsule can be reached by beside its own. */

import { demandPart, isLeftOut } from '@svc/kit/diagnostics/left-out.ts';

export const doorNames = ['a2a', 'mcp', 'openai'] as const;

export type DoorName = (typeof doorNames)[number];

interface Doored {
  readonly doors: {
    readonly serve?: readonly DoorName[] | undefined;
    readonly push?: { readonly allow: readonly unknown[] } | undefined;
  };
  readonly lifecycle: { readonly task_acceptance: 'none' | 'single' | 'queue' };
}

/**
 * The doors that a capsule serves: all that this build has, unless its manifest names them or it takes no tasks (docs/manifest.md "Keys"). Throws
 * `E-RUN-190` where the manifest asks for a door or for notifications that this build leaves out.
 */
export function servedDoors({ doors, lifecycle }: Doored): readonly DoorName[] {
  if (lifecycle.task_acceptance === 'none') return [];
  for (const name of doors.serve ?? []) demandPart(name);
  if ((doors.push?.allow ?? []).length > 0) demandPart('push');
  return doors.serve ?? doorNames.filter((name) => !isLeftOut(name));
}
