import { mkdirSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';

import { systemFiles } from './closure/file-host.ts';
import { neededFiles } from './closure/needed-files.ts';
import { countThreads } from './count-threads.ts';
import type { ContainmentPlace } from './containment.ts';
import { EgressLog } from './egress/egress-log.ts';
import { EgressProxy } from './egress/egress-proxy.ts';
import { systemResolver } from '@svc/kit/net/resolver.ts';

import type { ProcessGrants } from './launch/process-grants.ts';
import { enterGroups } from './limits/ladder.ts';
import { keepUsers, unusedUser } from './limits/kept-users.ts';
import { ownGroupFacts, ownGroupId } from './own-facts.ts';
import { filterFor } from './process-filter.ts';
import type { Architecture } from './seccomp/architecture.ts';
import { egressPort } from './service-address.ts';
import type { EgressDoor, LaunchMachinery } from './session-launches.ts';

/** What launches on this host are made of: filters of its architecture, the files of its disk, a way out through its network. */
export function launchMachinery(architecture: Architecture, uid: number): LaunchMachinery {
  return {
    filterFor: (grants, enforcement) => filterFor(grants, enforcement, architecture),
    filesOf: (programs, searchPath, reads) => neededFiles(programs, systemFiles, searchPath, reads),
    countProcesses: () => countThreads(uid),
    enterGroups: (version, controllers) => enterGroups(ownGroupFacts(), version, controllers),
    keepUsers: async (helper, kind) => {
      const outside = kind === 'mapped' ? unusedUser() : uid;
      const users = await keepUsers(helper, { outside, self: { uid, gid: ownGroupId() } });
      return users === null ? null : { ...users, owner: kind === 'mapped' ? outside : null };
    },
    openEgress,
  };
}

function openEgress(
  { networkAllow, servicePort }: ProcessGrants,
  { privateDirectory, logs: budget }: ContainmentPlace,
): EgressDoor {
  const logs = join(privateDirectory, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const log = new EgressLog(join(logs, 'egress.jsonl'), budget);
  const proxy = new EgressProxy({
    allow: networkAllow,
    resolver: systemResolver,
    onDecision: (decision) => log.write(decision),
    ...(servicePort === undefined ? {} : { service: { proxyPort: egressPort, port: servicePort } }),
  });
  return {
    serve: (listening: Server) => listening.on('connection', (socket) => proxy.accept(socket)),
    close: () => proxy.close(),
  };
}
