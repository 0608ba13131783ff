import { mkdirSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';

import { systemFiles } from './closure/file-host.ts';
import { neededFiles } from './closure/needed-files.ts';
import { countThreads } from './count-processes.ts';
import { EgressLog } from './egress/egress-log.ts';
import { EgressProxy } from './egress/egress-proxy.ts';
import { systemResolver } from './egress/resolver.ts';
import type { EgressDoor, LaunchMachinery } from './kernel-containment.ts';
import type { Enforcement } from './launch/compose-plan.ts';
import type { ProcessGrants } from './launch/process-grants.ts';
import type { Architecture } from './seccomp/architecture.ts';
import { assemble } from './seccomp/assemble.ts';
import { syscallPolicy } from './seccomp/policy.ts';

/** What launches on this host are made of: filters of its architecture, the files of its disk, a way out through its network. */
export function launchMachinery(architecture: Architecture, uid: number): LaunchMachinery {
  return {
    filterFor: (grants, enforcement) => filterFor(grants, enforcement, architecture),
    filesOf: (programs, searchPath) => neededFiles(programs, systemFiles, searchPath),
    countProcesses: () => countThreads(uid),
    openEgress,
  };
}

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

function filterFor(grants: ProcessGrants, enforcement: Enforcement, architecture: Architecture): Buffer {
  return assemble(
    syscallPolicy({
      ...nothingGranted,
      architecture,
      tcp: grants.networkAllow.length > 0,
      unixSockets: grants.unixSockets,
      // Listening on a socket of TCP that has no address gives it one, unseen by Landlock: only a network of one's own may have both.
      listen: grants.unixSockets && (enforcement.class === 'sealed' || grants.networkAllow.length === 0),
      // Queues and shared memory of the host are nobody's business; in a namespace there are only one's own.
      ipc: enforcement.class === 'sealed',
    }),
  );
}

function openEgress({ networkAllow }: ProcessGrants, privateDirectory: string): EgressDoor {
  const logs = join(privateDirectory, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const log = new EgressLog(join(logs, 'egress.jsonl'));
  const proxy = new EgressProxy({
    allow: networkAllow,
    resolver: systemResolver,
    onDecision: (decision) => log.write(decision),
  });
  return {
    serve: (listening: Server) => listening.on('connection', (socket) => proxy.accept(socket)),
    close: () => proxy.close(),
  };
}
