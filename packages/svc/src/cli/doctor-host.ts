import { accessSync, constants } from 'node:fs';

import { systemFiles } from '@svc/sandbox/closure/file-host.ts';
import { neededFiles } from '@svc/sandbox/closure/needed-files.ts';
import { hostContainment, type HostFacts } from '@svc/sandbox/host-containment.ts';
import { findHelper } from '@svc/sandbox/launch/helper-path.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { joined, say, type Shown } from './terminal/shown.ts';

/** What this host offers, as `svc doctor --json` spells it. */
export interface HostReport {
  readonly node: string;
  readonly home: string;
  readonly home_writable: boolean;
  readonly containment: string;
  readonly mechanism: string;
  readonly userns_grant: string;
  /** Why the class is not a stronger one; null for the strongest. */
  readonly not_stronger: string | null;
  /** Where `svc-launch` is; null where there is none. */
  readonly helper: string | null;
  /** What stands in the way of every contained program, as sentences. */
  readonly problems: readonly string[];
}

/** Asks the host. Starts nothing but what finds out how processes can be contained. */
export async function reportHost(facts: HostFacts, home: string): Promise<HostReport> {
  const { achieved, mechanism, usernsGrant, reason } = await hostContainment(facts);
  return {
    node: process.version,
    home,
    home_writable: isWritable(home),
    containment: achieved,
    mechanism,
    userns_grant: usernsGrant,
    not_stronger: reason,
    helper: findHelper(facts),
    problems: neededFiles([], systemFiles, []).problems,
  };
}

/** `key:` and value, a line each. */
export function renderHost(report: HostReport): Shown {
  const fields: readonly (readonly [string, string])[] = [
    ['node', report.node],
    ['home', `${report.home} (${report.home_writable ? 'writable' : 'NOT writable'})`],
    ['containment', report.containment],
    ['mechanism', report.mechanism],
    ['userns grant', report.userns_grant],
    ...(report.not_stronger === null ? [] : [['not stronger', report.not_stronger] as const]),
    ['helper', report.helper ?? '(none)'],
    ...report.problems.map((problem): [string, string] => ['problem', problem]),
  ];
  return joined(fields.map(([name, value]) => say`${`${name}:`.padEnd(14)} ${value}\n`));
}

function isWritable(directory: string): boolean {
  return unlessRefused(() => {
    accessSync(directory, constants.W_OK);
    return true;
  }, false);
}
