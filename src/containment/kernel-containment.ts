import type { Server } from 'node:net';

import type { ContainmentClass } from '../wire/containment-class.ts';
import type { Containment, ContainmentPlace, SessionContainment } from './containment.ts';
import { createContainedLauncher } from './contained-launcher.ts';
import type { Enforcement } from './launch/compose-plan.ts';
import type { HostAbility } from './launch/host-ability.ts';
import { LaunchSheets } from './launch/launch-sheets.ts';
import { leastAbiForScoped } from './launch/landlock-rights.ts';
import type { NeededFiles } from './launch/needed-files.ts';
import type { ProcessGrants } from './launch/process-grants.ts';
import { networkVariables } from './network-variables.ts';

/** What the launches of a session are made of, beside the host's own ability. */
export interface KernelContainmentParts {
  readonly helper: string;
  readonly ability: HostAbility;
  /** Nothing stronger is used (`SVC_CONTAINMENT_CEILING`). */
  readonly ceiling: ContainmentClass;
  readonly filterFor: (grants: ProcessGrants, enforcement: Enforcement) => Buffer;
  readonly filesOf: (programs: readonly string[], searchPath: readonly string[]) => NeededFiles;
  readonly countProcesses: () => number;
  readonly openEgress: (grants: ProcessGrants, privateDirectory: string) => EgressDoor;
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
  const opened: { close(): unknown }[] = [];
  return {
    launcher: (grants) => {
      const { workdir, privateDirectory } = place;
      const { helper, countProcesses, filesOf, filterFor } = parts;
      const sheets = new LaunchSheets({
        enforcement,
        grants,
        workdir,
        privateDirectory,
        filter: filterFor(grants, enforcement),
        filesOf,
        countProcesses,
      });
      const proxied = enforcement.class === 'sealed' && grants.networkAllow.length > 0;
      const door = proxied ? parts.openEgress(grants, privateDirectory) : null;
      opened.push(sheets, ...(door === null ? [] : [door]));
      return createContainedLauncher({
        helper,
        sheets,
        commands: grants.commands,
        variables: networkVariables(grants, enforcement.class),
        egress: door === null ? null : (listening) => door.serve(listening),
      });
    },
    close: async () => {
      await Promise.all(opened.splice(0).map((each) => each.close()));
    },
  };
}
