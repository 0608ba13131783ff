/** Starts the processes of one session: what they have in common is made with the first of them. */

import type { Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainmentPlace, SessionContainment } from './containment.ts';
import { type ContainedLauncher, createContainedLauncher } from './contained-launcher.ts';
import type { KernelContainmentParts } from './kernel-containment.ts';
import type { Enforcement } from './launch/compose-plan.ts';
import { LaunchSheets, type LaunchSheetsOptions } from './launch/launch-sheets.ts';
import { connects, type ProcessGrants } from './launch/process-grants.ts';
import { type OpenUsers, keepUsers, unusedUser, type EnterGroups, SessionGroups } from './session-groups.ts';
import { LimitWatch } from './limits/limit-watch.ts';
import { networkVariables, egressPort } from './contained-environment.ts';
import { PipeStock, helperPipes } from './pipe-stock.ts';
import { systemFiles } from './closure/file-host.ts';
import { neededFiles } from './closure/needed-files.ts';
import { countThreads, ownGroupFacts, ownGroupId } from './own-facts.ts';
import { EgressLog } from './egress/egress-log.ts';
import { EgressProxy } from './egress/egress-proxy.ts';
import { systemResolver } from '@svc/kit/net/resolver.ts';
import { enterGroups } from './control-group.ts';
import { filterFor } from './seccomp/assemble.ts';
import type { Architecture } from './seccomp/architecture.ts';

/** What the launches of a session are made of, beside the host's own ability. */
export interface LaunchMachinery {
  readonly filterFor: (grants: ProcessGrants, enforcement: Enforcement) => Buffer;
  readonly filesOf: LaunchSheetsOptions['filesOf'];
  readonly countProcesses: () => number;
  readonly enterGroups: EnterGroups;
  /** The user namespaces of a session; null where the system makes none. */
  readonly keepUsers: (helper: string, kind: 'mapped' | 'own') => Promise<SessionUsers | null>;
  readonly openEgress: (grants: ProcessGrants, place: ContainmentPlace) => EgressDoor;
}

/** The user namespaces of a session, open until they are closed. */
export interface SessionUsers extends OpenUsers {
  /** Who programs are outside, where that is somebody else. */
  readonly owner: number | null;
}

/** The way out of processes with a network of their own. */
export interface EgressDoor {
  serve(listening: Server): void;
  close(): Promise<void>;
}

/** What the model is to be asked goes out first. */
const settleMs = 200;

/** The launches of a session with this enforcement; nothing is started or kept before the first. */
export function openSession(
  place: ContainmentPlace,
  enforcement: Enforcement,
  parts: KernelContainmentParts,
): SessionContainment {
  const opened: Promise<OpenedLauncher>[] = [];
  let preparing: Promise<SharedParts> | null = null;
  const shared = (grants: ProcessGrants): Promise<SharedParts> => (preparing ??= shareParts({ grants, place, parts }));
  let isClosed = false;
  return {
    launcher: (grants) => {
      let opening: Promise<OpenedLauncher> | null = null;
      const open = (): Promise<OpenedLauncher> => {
        if (opening === null) {
          opening = shared(grants).then((all) => openLauncher({ grants, place, enforcement, parts, shared: all }));
          opened.push(opening);
        }
        return opening;
      };
      const prepare = async (request: PrepareRequest): Promise<void> => {
        const { launcher } = await open();
        // Looking for files takes this thread for a while: what the model is to be asked goes out first.
        await setTimeout(settleMs, undefined, { ref: false });
        if (!isClosed) launcher.prepare(request);
      };
      return {
        launch: async (request) => (await open()).launcher.launch(request),
        // What fails here fails again in the launch that needs it, and is reported there.
        prepare: (request) => void prepare(request).catch(() => {}),
      };
    },
    close: async () => {
      isClosed = true;
      for (const each of await Promise.allSettled(opened.splice(0))) {
        if (each.status === 'fulfilled') await each.value.close();
      }
      for (const each of await Promise.allSettled(preparing === null ? [] : [preparing])) {
        if (each.status === 'fulfilled') await each.value.close();
      }
    },
  };
}

type PrepareRequest = Parameters<ContainedLauncher['prepare']>[0];

interface OpenedLauncher {
  readonly launcher: ContainedLauncher;
  close(): Promise<void>;
}

/** What all launches of a session have in common: what bounds them together, and their standard streams. */
interface SharedParts {
  readonly machinery: LaunchMachinery;
  /** Of this user, before the session started any: each of its launches is allowed as many in all. */
  readonly processesRunning: () => number;
  readonly pipes: PipeStock;
  readonly groups: SessionGroups;
  readonly users: SessionUsers | null;
  readonly watch: LimitWatch;
  /** A clause for a person: why nothing may be started, for a limit that was said to hold would not. */
  readonly obstacle: string | null;
  close(): Promise<void>;
}

interface ShareRequest {
  readonly grants: ProcessGrants;
  readonly place: ContainmentPlace;
  readonly parts: KernelContainmentParts;
}

async function shareParts({ grants, place: { hold }, parts }: ShareRequest): Promise<SharedParts> {
  const machinery = await parts.loadMachinery();
  const groups = new SessionGroups();
  // Before anything is started: who has children in its group cannot divide it any more.
  const ungrouped = groups.make(hold.groups, grants.limits, machinery.enterGroups);
  const users = hold.users === null ? null : await machinery.keepUsers(parts.helper, hold.users);
  const unkept = hold.users !== null && users === null ? 'no user namespace can be kept' : null;
  const pipes = new PipeStock(helperPipes(parts.helper, users?.owner ?? null));
  const watch = new LimitWatch({ hold, resources: grants.limits, groupHits: () => groups.hits() });
  const obstacle = ungrouped ?? unkept;
  let running: number | null = null;
  return {
    machinery,
    processesRunning: () => (running ??= machinery.countProcesses()),
    pipes,
    groups,
    users,
    watch,
    obstacle: obstacle === null ? null : `the limits of this session cannot be held any more: ${obstacle}`,
    close: async () => {
      await groups.close();
      await pipes.close();
      users?.close();
    },
  };
}

interface LauncherRequest extends ShareRequest {
  readonly enforcement: Enforcement;
  readonly shared: SharedParts;
}

async function openLauncher({ grants, place, enforcement, parts, shared }: LauncherRequest): Promise<OpenedLauncher> {
  const { machinery, processesRunning, pipes, groups, users, watch, obstacle } = shared;
  const { filterFor, filesOf, openEgress } = machinery;
  const { workdir, privateDirectory } = place;
  const sheets = new LaunchSheets({
    workdir,
    privateDirectory,
    enforcement,
    grants,
    cgroups: groups.joined,
    users: users?.users ?? null,
    filter: filterFor(grants, enforcement),
    filesOf,
    countProcesses: processesRunning,
  });
  const proxied = enforcement.class === 'sealed' && connects(grants);
  const door = proxied ? openEgress(grants, place) : null;
  return {
    launcher: createContainedLauncher({
      helper: parts.helper,
      sheets,
      pipes,
      commands: grants.commands,
      variables: networkVariables(grants, enforcement.class),
      egress: door === null ? null : (listening) => door.serve(listening),
      watch,
      obstacle,
    }),
    close: async () => {
      sheets.close();
      await door?.close();
    },
  };
}

/** What launches on this host are made of: filters of its architecture, the files of its disk, a way out through its network. */
export function launchMachinery(architecture: Architecture, uid: number): LaunchMachinery {
  return {
    filterFor: (grants, enforcement) => filterFor(grants, enforcement, architecture),
    filesOf: (programs, searchPath, granted) => neededFiles(programs, systemFiles, searchPath, granted),
    countProcesses: () => countThreads(uid),
    enterGroups: (version, controllers) => enterGroups(version, ownGroupFacts(), controllers),
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
  { privateDirectory, logs: budget, onDecision }: ContainmentPlace,
): EgressDoor {
  const logs = join(privateDirectory, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const log = new EgressLog(join(logs, 'egress.jsonl'), budget);
  const proxy = new EgressProxy({
    allow: networkAllow,
    resolver: systemResolver,
    onDecision: (decision) => {
      log.write(decision);
      onDecision?.(decision);
    },
    ...(servicePort === undefined ? {} : { service: { proxyPort: egressPort, port: servicePort } }),
  });
  return {
    serve: (listening: Server) => listening.on('connection', (socket) => proxy.accept(socket)),
    close: () => proxy.close(),
  };
}
