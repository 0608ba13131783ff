/** The protocols that a capsule can be reached by beside its own. */

export const doorNames = ['a2a', 'mcp', 'openai'] as const;

export type DoorName = (typeof doorNames)[number];

interface Doored {
  readonly doors: { readonly serve?: readonly DoorName[] | undefined };
  readonly lifecycle: { readonly task_acceptance: 'none' | 'single' | 'queue' };
}

/** The doors that a capsule serves: all there are, unless its manifest names them or it takes no tasks (docs/manifest.md "Keys"). */
export function servedDoors({ doors, lifecycle }: Doored): readonly DoorName[] {
  if (lifecycle.task_acceptance === 'none') return [];
  return doors.serve ?? doorNames;
}
