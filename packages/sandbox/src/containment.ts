/** What this machine contains processes with: nothing, or its kernel in the strongest class that it was seen to enforce. */

import { setTimeout } from 'node:timers/promises';

import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { ResourceLimits } from './launch/process-grants.ts';
import type { Launcher } from './launcher.ts';
import { climb, type LadderRequest, type LimitHold, unheld } from './limits/held-limits.ts';
import type { Enforcement } from './launch/enforcement.ts';
import { type HostAbility, minAbiForScoped } from './launch/host-ability.ts';
import type {
  SessionPlace,
  ContainmentPlace,
  SessionContainment,
  KernelContainmentParts,
} from './session-containment.ts';

/** What this host contains processes with. */
export interface Containment {
  readonly achieved: ContainmentClass;
  /** D1 "Mechanism values". */
  readonly mechanism: string;
  /** Why it is not a stronger class, as a clause for a person; null for the strongest. */
  readonly reason: string | null;
  /** D1 "Scope report", `userns grant`. */
  readonly usernsGrant: string;
  /** By what limits of a session are held here. Looks, and changes nothing. */
  hold(request: LadderRequest): Promise<LimitHold>;
  open(place: ContainmentPlace): SessionContainment;
}

/** Opens a session whose programs write nowhere but in `place.workdir`, with these limits. */
export async function openPlace(
  containment: Containment,
  place: SessionPlace,
  resources: ResourceLimits,
): Promise<SessionContainment> {
  const hold = await containment.hold({ resources, directories: [place.workdir] });
  return containment.open({ ...place, hold });
}

/** No kernel enforcement at all: class `advisory`, mechanism `none` (D1 "Mechanism values"). */
export function noContainment(reason: string): Containment {
  return {
    achieved: 'advisory',
    mechanism: 'none',
    reason,
    usernsGrant: 'n/a',
    hold: async ({ resources }) => unheld(resources),
    open: (place) => lateSession(async () => (await import('./direct-launcher.ts')).openDirectSession(place)),
  };
}

/** Delay, so that the model request is sent before looking for files blocks the thread. */
const settleMs = 200;

/** A session whose code is loaded and which is opened, by `open`, only when its first process is started or prepared: many capsules start none. */
export function lateSession(open: () => Promise<SessionContainment>): SessionContainment {
  let opening: Promise<SessionContainment> | null = null;
  let isClosed = false;
  return {
    launcher: (grants) => {
      let launcher: Promise<Launcher> | null = null;
      const opened = (): Promise<Launcher> =>
        (launcher ??= (opening ??= open()).then((session) => session.launcher(grants)));
      const prepare = async (request: Parameters<NonNullable<Launcher['prepare']>>[0]): Promise<void> => {
        const ready = await opened();
        await setTimeout(settleMs, undefined, { ref: false });
        if (!isClosed) ready.prepare?.(request);
      };
      return {
        launch: async (request) => (await opened()).launch(request),
        // What fails here fails again in the launch that needs it, and is reported there.
        prepare: (request) => void prepare(request).catch(() => {}),
      };
    },
    close: async () => {
      isClosed = true;
      // What could not be opened has nothing to free.
      await (await opening?.catch(() => null))?.close();
    },
  };
}

/** Contains processes by the kernel, in the strongest class that host and ceiling allow; null when not even a filter can be installed. */
export function kernelContainment(parts: KernelContainmentParts): Containment | null {
  const { helper, ability, architecture, uid, ownGroups } = parts;
  const enforcement = strongestEnforcement(parts);
  if (enforcement === null) return null;
  return {
    achieved: enforcement.class,
    mechanism: mechanisms[enforcement.class],
    reason: reasonAgainstMore(enforcement, parts),
    usernsGrant: usernsGrantOf(ability),
    hold: async (request) => climb(request, { enforcement, ability, isSuperuser: uid === 0, own: ownGroups() }),
    open: (place) =>
      lateSession(async () => {
        // What makes a launch is read when it is needed: a session that starts no process never needs it.
        const { launchMachinery, openSession } = await import('./session-launches.ts');
        return openSession(place, enforcement, launchMachinery({ helper, architecture, uid }));
      }),
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
  return landlockAbi >= minAbiForScoped ? { class: 'scoped', landlockAbi } : { class: 'advisory' };
}

function reasonAgainstMore({ class: used }: Enforcement, { ability, ceiling }: KernelContainmentParts): string | null {
  if (used === 'sealed') return null;
  if (used === ceiling) return `SVC_CONTAINMENT_CEILING is ${ceiling}`;
  const { sealed, scoped } = ability.obstacles;
  return [...new Set(used === 'scoped' ? [sealed] : [sealed, scoped])].filter((each) => each !== null).join('; ');
}

/** D1 "Scope report", `userns grant`: whether the kernel grants a user namespace for the composed root. */
function usernsGrantOf({ root }: Pick<HostAbility, 'root'>): string {
  if (root === null) return 'denied';
  return root.userNamespace ? 'granted' : 'not needed';
}
