/** The user namespaces that all launches of a session share, made by the helper and held open here. */
import { randomInt } from 'node:crypto';
import { closeSync, readlinkSync } from 'node:fs';

import type { SessionNamespaces } from '../launch/compose-plan.ts';
import { openHeldByHelper } from '../pipe-stock.ts';

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
