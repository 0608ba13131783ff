import type { Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';

import type { ContainmentClass } from '../wire/containment-class.ts';
import type { Containment, ContainmentPlace, SessionContainment } from './containment.ts';
import { type ContainedLauncher, createContainedLauncher } from './contained-launcher.ts';
import type { GroupPlaceLookup } from './control-group.ts';
import type { Enforcement } from './launch/compose-plan.ts';
import type { HostAbility } from './launch/host-ability.ts';
import { LaunchSheets, type LaunchSheetsOptions } from './launch/launch-sheets.ts';
import { leastAbiForScoped } from './launch/landlock-rights.ts';
import { connects, type ProcessGrants } from './launch/process-grants.ts';
import { helperPipes } from './make-pipes.ts';
import { networkVariables } from './network-variables.ts';
import { PipeStock } from './pipe-stock.ts';
import { SessionGroups } from './session-groups.ts';

export interface KernelContainmentParts {
  readonly helper: string;
  readonly ability: HostAbility;
  /** Nothing stronger is used (`SVC_CONTAINMENT_CEILING`). */
  readonly ceiling: ContainmentClass;
  /** Reads what makes a launch: a session that starts no process never needs it. */
  readonly loadMachinery: () => Promise<LaunchMachinery>;
}

/** What the launches of a session are made of, beside the host's own ability. */
export interface LaunchMachinery {
  readonly filterFor: (grants: ProcessGrants, enforcement: Enforcement) => Buffer;
  readonly filesOf: LaunchSheetsOptions['filesOf'];
  readonly countProcesses: () => number;
  /** Where control groups can be made that limit the number of processes. */
  readonly findGroups: () => GroupPlaceLookup;
  readonly openEgress: (grants: ProcessGrants, place: ContainmentPlace) => EgressDoor;
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
  const shared = { pipes: new PipeStock(helperPipes(parts.helper)), groups: new SessionGroups() };
  let isClosed = false;
  return {
    launcher: (grants) => {
      let opening: Promise<OpenedLauncher> | null = null;
      const open = (): Promise<OpenedLauncher> => {
        if (opening === null) opened.push((opening = openLauncher({ grants, place, enforcement, parts, ...shared })));
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
      await shared.groups.close();
      await shared.pipes.close();
    },
  };
}

type PrepareRequest = Parameters<ContainedLauncher['prepare']>[0];

interface OpenedLauncher {
  readonly launcher: ContainedLauncher;
  close(): Promise<void>;
}

interface LauncherRequest {
  readonly grants: ProcessGrants;
  readonly place: ContainmentPlace;
  readonly enforcement: Enforcement;
  readonly parts: KernelContainmentParts;
  readonly pipes: PipeStock;
  readonly groups: SessionGroups;
}

async function openLauncher(request: LauncherRequest): Promise<OpenedLauncher> {
  const { grants, place, enforcement, parts, pipes, groups } = request;
  const { filterFor, filesOf, countProcesses, findGroups, openEgress } = await parts.loadMachinery();
  const filter = filterFor(grants, enforcement);
  const cgroupProcs = groups.make(grants.limits.processes, findGroups)?.procs ?? null;
  const sheets = new LaunchSheets({ ...place, enforcement, grants, cgroupProcs, filter, filesOf, countProcesses });
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
    }),
    close: async () => {
      sheets.close();
      await door?.close();
    },
  };
}
