/** The command `svc doctor`: says what this machine offers. */

import { accessSync, constants } from 'node:fs';
import { Command } from 'commander';

import { hostFacts } from '@svc/capsule/launch/launch-host.ts';
import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { type Proxy, proxyFor, shownProxy } from '@svc/kit/net/proxy.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { parseCeiling } from '@svc/sandbox/floor.ts';
import { systemFiles } from '@svc/sandbox/closure/file-collection.ts';
import { neededFiles } from '@svc/sandbox/closure/needed-files.ts';
import { hostContainment, type HostFacts, findHelper } from '@svc/sandbox/host-containment.ts';
import { allLogins, isOver } from '@svc/session/tools/mcp/login/kept-login.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, joined, say, type Shown } from '@svc/terminal/screen/shown.ts';

/** `svc doctor`: what this host offers; with `--containment`, whether it keeps what its containment promises; with `--programs`, which programs work in it. */
export function doctorCommand(context: CommandContext): Command {
  return new Command('doctor')
    .description('Tell what this host offers, whether its containment holds, or which programs work in it.')
    .option('--containment', 'make attempts to break out of containment and say how each ended')
    .option('--programs', 'try the programs that are installed, as commands of a capsule, and say what works')
    .option('--json', 'write one JSON object per line')
    .action(async (options: DoctorOptions, command: Command) => {
      if (options.containment === true && options.programs === true) {
        command.error('error: --containment and --programs are asked for one at a time');
      }
      const { env, home } = context;
      const ceiling = parseCeiling(env['SVC_CONTAINMENT_CEILING']);
      const surroundings = { home, packageRoot: findPackageRoot(import.meta.filename), ceiling };
      // A profile for the helper that was loaded meanwhile shows nowhere else.
      const facts: HostFacts = { ...hostFacts(surroundings), triesAnew: true };
      const json = options.json === true;
      if (options.containment === true) {
        const { checkContainment } = await import('./doctor-attempts.ts');
        if (!(await checkContainment({ facts, context, json }))) process.exitCode = 1;
        return;
      }
      if (options.programs === true) {
        const { tryPrograms } = await import('./doctor-programs.ts');
        if (!(await tryPrograms({ facts, context, json }))) process.exitCode = 1;
        return;
      }
      const report = await reportHost(facts, home, env);
      context.stdout.write(json ? jsonLine(report) : renderHost(report));
    });
}

interface DoctorOptions {
  readonly containment?: boolean;
  readonly programs?: boolean;
  readonly json?: boolean;
}

/** What this host offers, as `svc doctor --json` spells it. */
interface HostReport {
  readonly node: string;
  readonly home: string;
  readonly home_writable: boolean;
  readonly containment: string;
  readonly mechanism: string;
  readonly userns_grant: string;
  /** Why the class is not a stronger one; null for the strongest. */
  readonly not_stronger: string | null;
  /** Where `svc-launch` is; null where it is not installed. */
  readonly helper: string | null;
  /** The proxies of hosts that are named by these schemes, `host:port`; null where they are reached straight. */
  readonly https_proxy: string | null;
  readonly http_proxy: string | null;
  /** Hosts that are reached without them; null for all the same. */
  readonly no_proxy: string | null;
  /** Where this user is logged in, as `svc login` does it. */
  readonly logins: readonly { readonly server: string; readonly issuer: string; readonly holds: boolean }[];
  /** What stands in the way of every contained program, or of a login, as sentences. */
  readonly problems: readonly string[];
}

/** Asks the host. Starts only what finds out how processes can be contained. */
async function reportHost(facts: HostFacts, home: string, env: Environment): Promise<HostReport> {
  const { problems, ...proxies } = proxiesIn(env);
  const { achieved, mechanism, usernsGrant, reason } = await hostContainment(facts);
  const { logins, faults } = allLogins(home, process.getuid?.());
  return {
    node: process.version,
    home,
    home_writable: isWritable(home),
    containment: achieved,
    mechanism,
    userns_grant: usernsGrant,
    not_stronger: reason,
    helper: findHelper(facts),
    ...proxies,
    logins: logins.map((login) => ({
      server: login.server,
      issuer: login.issuer,
      holds: !isOver(login, systemClock.now()),
    })),
    problems: [...neededFiles([], systemFiles, []).problems, ...problems, ...faults],
  };
}

/** What goes through a proxy, and why one that is named cannot be used. */
function proxiesIn(env: Environment): Pick<HostReport, 'https_proxy' | 'http_proxy' | 'no_proxy' | 'problems'> {
  const problems: string[] = [];
  const [https = null, http = null] = ['https', 'http'].map((scheme) => {
    // Asked for a host outside: NO_PROXY is shown as it is.
    let proxy: Proxy | null = null;
    const refusal = diagnosticOf(
      () => (proxy = proxyFor(new URL(`${scheme}://any-host.invalid`), { ...env, NO_PROXY: '', no_proxy: '' })),
    );
    if (refusal !== null && !problems.includes(refusal.message)) problems.push(refusal.message);
    return proxy === null ? null : shownProxy(proxy);
  });
  const list = env['no_proxy'] || env['NO_PROXY'] || '';
  return { https_proxy: https, http_proxy: http, no_proxy: list === '' ? null : list, problems };
}

/** `key:` and value, a line each. */
function renderHost(report: HostReport): Shown {
  const fields: readonly (readonly [string, string])[] = [
    ['node', report.node],
    ['home', `${report.home} (${report.home_writable ? 'writable' : 'NOT writable'})`],
    ['containment', report.containment],
    ['mechanism', report.mechanism],
    ['userns grant', report.userns_grant],
    ...(report.not_stronger === null ? [] : [['not stronger', report.not_stronger] as const]),
    ['helper', report.helper ?? '(none)'],
    ...proxyFields(report),
    ...report.logins.map(({ server, issuer, holds }): [string, string] => [
      'login',
      `${server} by ${issuer}${holds ? '' : ', over: svc login makes another'}`,
    ]),
    ...report.problems.map((problem): [string, string] => ['problem', problem]),
  ];
  return joined(fields.map(([name, value]) => say`${`${name}:`.padEnd(14)} ${value}\n`));
}

function proxyFields({
  https_proxy: https,
  http_proxy: http,
  no_proxy: list,
}: HostReport): readonly [string, string][] {
  if (https === null && http === null) return [];
  const by = [...(https === null ? [] : [`https by ${https}`]), ...(http === null ? [] : [`http by ${http}`])];
  const without = list === null ? '' : `, without it ${list}`;
  return [['proxy', `${by.join(', ')}${without}; hosts behind it are judged by name`]];
}

function isWritable(directory: string): boolean {
  return unlessRefused(() => {
    accessSync(directory, constants.W_OK);
    return true;
  }, false);
}
