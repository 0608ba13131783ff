/** Starts the processes of one session: what they have in common is made with the first of them. */

import type { ContainmentPlace, SessionContainment, KernelContainmentParts } from './session-containment.ts';
import { type ContainedLauncher, createContainedLauncher } from './contained-launcher.ts';
import type { Enforcement } from './launch/enforcement.ts';
import { LaunchTemplates, type LaunchTemplatesOptions } from './launch/launch-templates.ts';
import type { ProcessGrants } from './launch/process-grants.ts';
import { holdLimits, keepUsers, type LimitMachinery, type SessionLimits, unusedUser } from './limits/session-limits.ts';
import { connects, networkVariables } from './contained-environment.ts';
import { PipePool, helperPipes } from './pipe-pool.ts';
import { systemFiles } from './closure/file-collection.ts';
import { neededFiles } from './closure/needed-files.ts';
import { countThreads, ownGroupFacts, ownGroupId } from './own-facts.ts';
import type { EgressDoor } from './egress/egress-door.ts';
import { enterGroups } from './limits/control-group.ts';
import { filterFor } from './seccomp/assemble.ts';
import { LaunchServer } from './launch-server.ts';

/** What the launches of a session are made of. */
export interface LaunchMachinery extends LimitMachinery {
  /** `svc-launch`. */
  readonly helper: string;
  readonly filterFor: (grants: ProcessGrants, enforcement: Enforcement) => Buffer;
  readonly filesOf: LaunchTemplatesOptions['filesOf'];
  readonly countProcesses: () => number;
  readonly openEgress: (grants: ProcessGrants, place: ContainmentPlace) => Promise<EgressDoor>;
}

/** The launches of a session with this enforcement; no program is started before the first, and no file is looked for. */
export async function openSession(
  place: ContainmentPlace,
  enforcement: Enforcement,
  machinery: LaunchMachinery,
): Promise<SessionContainment> {
  const limits = await holdLimits(place.hold, machinery);
  const pipes = new PipePool(helperPipes(machinery.helper, limits.users?.owner ?? null));
  const server = new LaunchServer(machinery.helper);
  let running: number | null = null;
  // The server is one more, and not yet there.
  const processesRunning = (): number => (running ??= machinery.countProcesses() + 1);
  const shared = { limits, pipes, server, processesRunning };
  const closings: (() => Promise<void>)[] = [];
  return {
    launcher: (grants) => {
      const { launcher, close } = openLauncher({ grants, place, enforcement, machinery, shared });
      closings.push(close);
      return launcher;
    },
    close: async () => {
      for (const close of closings.splice(0)) await close();
      server.close();
      await limits.close();
      await pipes.close();
    },
  };
}

/** What all launches of a session have in common: what bounds them together, and their standard streams. */
interface SharedParts {
  readonly limits: SessionLimits;
  readonly pipes: PipePool;
  readonly server: LaunchServer;
  /** For this user, before the session started any: each of its launches is allowed as many in all. */
  readonly processesRunning: () => number;
}

interface LauncherRequest {
  readonly grants: ProcessGrants;
  readonly place: ContainmentPlace;
  readonly enforcement: Enforcement;
  readonly machinery: LaunchMachinery;
  readonly shared: SharedParts;
}

interface OpenedLauncher {
  readonly launcher: ContainedLauncher;
  readonly close: () => Promise<void>;
}

function openLauncher({ grants, place, enforcement, machinery, shared }: LauncherRequest): OpenedLauncher {
  const { limits, pipes, server, processesRunning } = shared;
  const { cgroups, users, watch, obstacle } = limits;
  const { helper, filterFor, filesOf, openEgress } = machinery;
  const { workdir, privateDirectory } = place;
  const templates = new LaunchTemplates({
    workdir,
    privateDirectory,
    enforcement,
    grants,
    cgroups,
    users: users?.users ?? null,
    filter: filterFor(grants, enforcement),
    filesOf,
    countProcesses: processesRunning,
  });
  const proxied = enforcement.class === 'sealed' && connects(grants);
  let door: Promise<EgressDoor> | null = null;
  return {
    launcher: createContainedLauncher({
      helper,
      templates,
      pipes,
      server,
      commands: grants.commands,
      variables: networkVariables(grants, enforcement.class),
      gate: grants.gate,
      egress: proxied ? () => (door ??= openEgress(grants, place)) : null,
      watch,
      obstacle,
    }),
    close: async () => {
      templates.close();
      // A door that could not be opened let nothing start.
      await (await door?.catch(() => null))?.close();
    },
  };
}

/** What launches on this host are made of: filters of its architecture, the files of its disk, a way out through its network. */
export function launchMachinery({
  helper,
  architecture,
  uid,
}: Pick<KernelContainmentParts, 'helper' | 'architecture' | 'uid'>): LaunchMachinery {
  return {
    helper,
    filterFor: (grants, enforcement) => filterFor(grants, enforcement, architecture),
    filesOf: (programs, searchPath, granted) => neededFiles(programs, systemFiles, searchPath, granted),
    countProcesses: () => countThreads(uid),
    enterGroups: (version, controllers) => enterGroups(version, ownGroupFacts(), controllers),
    keepUsers: async (kind) => {
      const outside = kind === 'mapped' ? unusedUser() : uid;
      const users = await keepUsers(helper, { outside, self: { uid, gid: ownGroupId() } });
      return users === null ? null : { ...users, owner: kind === 'mapped' ? outside : null };
    },
    openEgress: async (grants, place) => (await import('./egress/egress-door.ts')).openEgressDoor(grants, place),
  };
}
