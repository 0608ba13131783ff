/** Makes the system call filter that fits the grants of a process. */

import type { Enforcement } from './launch/compose-plan.ts';
import { connects, type ProcessGrants } from './launch/process-grants.ts';
import type { Architecture } from './seccomp/architecture.ts';
import { assemble } from './seccomp/assemble.ts';
import { syscallPolicy } from './seccomp/policy.ts';

const nothingGranted = {
  tcp: false,
  udp: false,
  unixSockets: false,
  listen: false,
  ipc: false,
  restrictMetadata: false,
} as const;

/** The filter of a process that is granted nothing, which is what a host is tried with. */
export function strictestFilter(architecture: Architecture): Buffer {
  return assemble(syscallPolicy({ ...nothingGranted, architecture }));
}

/** The filter of a process with these grants. */
export function filterFor(grants: ProcessGrants, enforcement: Enforcement, architecture: Architecture): Buffer {
  return assemble(
    syscallPolicy({
      ...nothingGranted,
      architecture,
      tcp: connects(grants),
      unixSockets: grants.unixSockets,
      // Listening on a socket of TCP that has no address gives it one, unseen by Landlock: only a network of one's own may have both.
      listen: grants.unixSockets && (enforcement.class === 'sealed' || !connects(grants)),
      // Queues and shared memory of the host are nobody's business; in a namespace there are only one's own.
      ipc: enforcement.class === 'sealed',
    }),
  );
}
