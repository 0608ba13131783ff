import { accessSync, constants, mkdirSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';

import type { ContainmentClass } from '../wire/containment-class.ts';
import { AbilityCache, abilityKey } from './ability-cache.ts';
import { neededFiles } from './closure/needed-files.ts';
import { systemFiles } from './closure/file-host.ts';
import { noContainment, type Containment } from './containment.ts';
import { countThreads } from './count-processes.ts';
import { EgressLog } from './egress/egress-log.ts';
import { EgressProxy } from './egress/egress-proxy.ts';
import { systemResolver } from './egress/resolver.ts';
import { kernelContainment, type EgressDoor } from './kernel-containment.ts';
import type { Enforcement } from './launch/compose-plan.ts';
import { findHelper, type HelperSearch } from './launch/helper-path.ts';
import type { HostAbility } from './launch/host-ability.ts';
import type { ProcessGrants } from './launch/process-grants.ts';
import { probeHost } from './probe-host.ts';
import type { Architecture } from './seccomp/architecture.ts';
import { assemble } from './seccomp/assemble.ts';
import { syscallPolicy } from './seccomp/policy.ts';

export interface HostFacts extends HelperSearch {
  /** The user the process is. */
  readonly uid: number;
  /** The release of the kernel. */
  readonly kernel: string;
  /** `~/.svc/cache`. Where it cannot be made, the host is tried anew by each start. */
  readonly cacheDirectory: string;
  /** For files of a moment: the system's temporary directory. */
  readonly temporaryDirectory: string;
  /** Nothing stronger is used. */
  readonly ceiling: ContainmentClass;
}

/**
 * The strongest containment of this host under a ceiling. The host is tried, not asked for a version, and what it showed is kept for
 * as long as nothing it depends on changes (D1 "Command line" 2).
 */
export async function hostContainment(facts: HostFacts): Promise<Containment> {
  const { platform, architecture, ceiling, uid } = facts;
  if (platform !== 'linux') return noContainment(`${platform} has no sandbox that svc uses`);
  const filters = filterArchitectures[architecture];
  if (filters === undefined) return noContainment(`system calls of ${architecture} cannot be filtered by this version`);
  const helper = findHelper(facts);
  if (helper === null)
    return noContainment('the helper svc-launch is not installed, and a checkout builds it with a C compiler only');
  const ability = await abilityOf({ ...facts, helper, architecture: filters });
  const containment = kernelContainment({
    helper,
    ability,
    ceiling,
    filterFor: (grants, enforcement) => filterFor(grants, enforcement, filters),
    filesOf: (programs, searchPath) => neededFiles(programs, systemFiles, searchPath),
    countProcesses: () => countThreads(uid),
    openEgress,
  });
  return containment ?? noContainment(ability.obstacles.filter ?? '');
}

const filterArchitectures: Readonly<Record<string, Architecture>> = { x64: 'x86_64', arm64: 'aarch64' };

interface ProbeFacts extends Omit<HostFacts, 'architecture'> {
  readonly helper: string;
  readonly architecture: Architecture;
}

async function abilityOf({ helper, architecture, uid, kernel, ...places }: ProbeFacts): Promise<HostAbility> {
  const cache = new AbilityCache(places.cacheDirectory);
  const key = abilityKey({ helper, uid, kernel });
  const known = cache.read(key);
  if (known !== null) return known;
  const isKept = wasMade(places.cacheDirectory);
  const ability = await probeHost({
    helper,
    filter: assemble(syscallPolicy({ ...nothingGranted, architecture })),
    directory: isKept ? places.cacheDirectory : places.temporaryDirectory,
    isSuperuser: uid === 0,
  });
  if (isKept) cache.write(key, ability);
  return ability;
}

function wasMade(directory: string): boolean {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    accessSync(directory, constants.W_OK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false;
  }
}

const nothingGranted = {
  tcp: false,
  udp: false,
  unixSockets: false,
  listen: false,
  ipc: false,
  restrictMetadata: false,
} as const;

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
