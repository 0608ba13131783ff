/** Contains processes by the kernel, in the strongest class that a machine was seen to enforce. */

import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { type Containment, lateSession } from './containment.ts';
import { type Enforcement, leastAbiForScoped } from './launch/compose-plan.ts';
import type { HostAbility } from './launch/host-ability.ts';
import type { LimitHold, LadderRequest } from './limits/held-limits.ts';
import type { LaunchMachinery } from './session-launches.ts';

export interface KernelContainmentParts {
  readonly helper: string;
  readonly ability: HostAbility;
  /** Nothing stronger is used (`SVC_CONTAINMENT_CEILING`). */
  readonly ceiling: ContainmentClass;
  /** By what limits are held with this enforcement (`limits/ladder.ts`). */
  readonly hold: (request: LadderRequest, enforcement: Enforcement) => Promise<LimitHold>;
  /** Reads what makes a launch: a session that starts no process never needs it. */
  readonly loadMachinery: () => Promise<LaunchMachinery>;
}

/** The strongest class that the host and the ceiling allow; null when not even a filter can be installed. */
export function kernelContainment(parts: KernelContainmentParts): Containment | null {
  const enforcement = strongestEnforcement(parts);
  if (enforcement === null) return null;
  return {
    achieved: enforcement.class,
    mechanism: mechanisms[enforcement.class],
    reason: reasonAgainstMore(enforcement, parts),
    usernsGrant: usernsGrantOf(parts.ability),
    hold: (request) => parts.hold(request, enforcement),
    open: (place) =>
      lateSession(async () => (await import('./session-launches.ts')).openSession(place, enforcement, parts)),
  };
}

/** D1 "Mechanism values". */
export const mechanisms: Readonly<Record<ContainmentClass, string>> = {
  sealed: 'mountns+pivot_root+landlock+seccomp',
  scoped: 'landlock+seccomp',
  advisory: 'seccomp-only',
};

/** The strongest that the host and the ceiling allow; null when not even a filter can be installed. */
export function strongestEnforcement({
  ability,
  ceiling,
}: Pick<KernelContainmentParts, 'ability' | 'ceiling'>): Enforcement | null {
  const { filter, landlockAbi, root } = ability;
  if (!filter) return null;
  if (ceiling === 'advisory' || landlockAbi === null) return { class: 'advisory' };
  if (ceiling === 'sealed' && root !== null) return { class: 'sealed', landlockAbi, root };
  return landlockAbi >= leastAbiForScoped ? { class: 'scoped', landlockAbi } : { class: 'advisory' };
}

function reasonAgainstMore({ class: used }: Enforcement, { ability, ceiling }: KernelContainmentParts): string | null {
  if (used === 'sealed') return null;
  if (used === ceiling) return `SVC_CONTAINMENT_CEILING is ${ceiling}`;
  const { sealed, scoped } = ability.obstacles;
  return [...new Set(used === 'scoped' ? [sealed] : [sealed, scoped])].filter((each) => each !== null).join('; ');
}

/** D1 "Scope report", `userns grant`: whether the kernel grants a user namespace for the composed root. */
export function usernsGrantOf({ root }: Pick<HostAbility, 'root'>): string {
  if (root === null) return 'denied';
  return root.userNamespace ? 'granted' : 'not needed';
}
