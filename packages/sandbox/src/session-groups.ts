/** Makes what bounds a session as a whole, when its first program is to be started: control groups, and user namespaces that are held open. */

import {
  type ControlGroup,
  type GroupLimits,
  type GroupMaker,
  type GroupVersion,
  type GroupPlaceLookup,
  countOf,
  readGroupFile,
} from './control-group.ts';
import type { JoinedGroups } from './launch/launch-plan.ts';
import { type LimitHold, sessionProcesses } from './limits/held-limits.ts';
import type { ResourceLimits } from './launch/process-grants.ts';
import { randomInt } from 'node:crypto';
import { closeSync, readlinkSync } from 'node:fs';
import type { SessionNamespaces } from './launch/compose-plan.ts';
import { openHeldByHelper } from './pipe-stock.ts';

/** Enters the place in which groups of a version with these controllers are made. */
export type EnterGroups = (version: GroupVersion, controllers: readonly string[]) => GroupPlaceLookup;

/** How often a limit of the groups kept something from happening. */
export interface GroupHits {
  readonly processes: number;
  readonly memory: number;
}

/** Groups of one session; none where its limits are held otherwise. */
export class SessionGroups {
  readonly #groups: ControlGroup[] = [];
  readonly #places: GroupMaker[] = [];
  #room: JoinedGroups['room'] = null;

  /**
   * Makes the groups that `hold` says. Null when they are there, else a clause for a person: then nothing may be started, for what is
   * said of the limits would not be so.
   */
  make(hold: LimitHold['groups'], resources: ResourceLimits, enter: EnterGroups): string | null {
    for (const version of ['cgroup-v2', 'cgroup-v1'] as const) {
      const limits = limitsOf(version, hold, resources);
      if (limits === null) continue;
      const found = enter(version, [...new Set(Object.keys(limits).map((name) => name.split('.')[0] ?? ''))]);
      if (found.kind === 'none') return found.obstacle;
      this.#places.push(found.place);
      const group = found.place.make(limits);
      if (group === null) return 'no control group can be made';
      this.#groups.push(group);
      const count = group.path('pids.current');
      if (hold.processes === version && count !== null) this.#room = { count, most: sessionProcesses(resources) };
    }
    return null;
  }

  /** As launches join them. */
  get joined(): JoinedGroups {
    return { joins: this.#groups.flatMap(({ joins }) => joins), room: this.#room };
  }

  hits(): GroupHits {
    const sum = (files: readonly string[], word: string): number =>
      this.#groups
        .flatMap((group) => files.map((file) => countOf(readGroupFile(group.path(file) ?? ''), word)))
        .reduce((a, b) => a + b, 0);
    return {
      processes: sum(['pids.events'], 'max'),
      memory: sum(['memory.events', 'memory.oom_control'], 'oom_kill'),
    };
  }

  /** Ends what is left in the groups. */
  async close(): Promise<void> {
    await Promise.all(this.#groups.splice(0).map((group) => group.close()));
    for (const place of this.#places.splice(0)) place.leave();
  }
}

function limitsOf(version: GroupVersion, hold: LimitHold['groups'], resources: ResourceLimits): GroupLimits | null {
  const processes = hold.processes === version ? sessionProcesses(resources) : null;
  const memory = hold.memory === version ? (resources.session_memory ?? null) : null;
  if (processes === null && memory === null) return null;
  return {
    ...(processes === null ? {} : { 'pids.max': `${processes}` }),
    ...(memory === null ? {} : memoryFiles[version](`${memory}`)),
  };
}

/** In the order in which they are written: memory alone may not be allowed more than together with swap. */
const memoryFiles: Readonly<Record<GroupVersion, (bytes: string) => GroupLimits>> = {
  'cgroup-v2': (bytes) => ({ 'memory.max': bytes, 'memory.swap.max': '0', 'memory.oom.group': '1' }),
  'cgroup-v1': (bytes) => ({ 'memory.limit_in_bytes': bytes, 'memory.memsw.limit_in_bytes': bytes }),
};

export interface UserIdentity {
  readonly uid: number;
  readonly gid: number;
}

/** What launches join, and who they are outside. Open until it is closed. */
export interface OpenUsers {
  readonly users: SessionNamespaces;
  close(): void;
}

/** Numbers that no user and no container is given by anybody: above those that systemd hands out, below the sign bit. */
const [leastUnused, mostUnused] = [0x7000_0000, 0x7fff_fffe];

/** Another one for each session, so that two of root cannot signal each other; the one behind it is the session's too. */
export function unusedUser(): number {
  return leastUnused + 2 * randomInt((mostUnused - leastUnused) / 2);
}

/**
 * Makes the namespaces: for root, `outside` is an unused number that is 0 inside; an ordinary user stays who it is. Null where the system
 * makes none.
 */
export async function keepUsers(
  helper: string,
  { outside, self }: { readonly outside: number; readonly self: UserIdentity },
): Promise<OpenUsers | null> {
  const isMapped = outside !== self.uid;
  const held = await openHeldByHelper({ helper, args: ['users', `${outside}`], ends: isMapped ? [3, 4] : [3] });
  const [programs, mounts] = held.map((descriptor) => `/proc/${readlinkSync('/proc/self')}/fd/${descriptor}`);
  if (programs === undefined) return null;
  const inside = isMapped ? { uid: 0, gid: 0 } : self;
  return {
    users: { programs, mounts: mounts ?? null, ...inside },
    close: () => {
      for (const descriptor of held) closeSync(descriptor);
    },
  };
}
