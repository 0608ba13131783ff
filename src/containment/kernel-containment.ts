import type { Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';

import type { ContainmentClass } from '../wire/containment-class.ts';
import type { Containment, ContainmentPlace, SessionContainment } from './containment.ts';
import { type ContainedLauncher, createContainedLauncher } from './contained-launcher.ts';
import type { Enforcement } from './launch/compose-plan.ts';
import type { HostAbility } from './launch/host-ability.ts';
import { LaunchSheets, type LaunchSheetsOptions } from './launch/launch-sheets.ts';
import { leastAbiForScoped } from './launch/landlock-rights.ts';
import { connects, type ProcessGrants } from './launch/process-grants.ts';
import type { LimitHold } from './limits/held-limits.ts';
import type { OpenUsers } from './limits/kept-users.ts';
import type { LadderRequest } from './limits/ladder.ts';
import { LimitWatch } from './limits/limit-watch.ts';
import { helperPipes } from './make-pipes.ts';
import { networkVariables } from './network-variables.ts';
import { PipeStock } from './pipe-stock.ts';
import { type EnterGroups, SessionGroups } from './session-groups.ts';

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
    open: (place) => openSession(place, enforcement, parts),
  };
}

const settleMs = 200;

/** D1 "Mechanism values". */
const mechanisms: Readonly<Record<ContainmentClass, string>> = {
  sealed: 'mountns+pivot_root+landlock+seccomp',
  scoped: 'landlock+seccomp',
  advisory: 'seccomp-only',
};

function strongestEnforcement({ ability, ceiling }: KernelContainmentParts): Enforcement | null {
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

/** D1 "Scope report", `userns grant`: whether a namespace of an own user was to be had for the composed root. */
export function usernsGrantOf({ root }: Pick<HostAbility, 'root'>): string {
  if (root === null) return 'denied';
  return root.userNamespace ? 'granted' : 'not needed';
}

function openSession(
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
        // A launch that needs what failed here fails of it again, and tells.
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
