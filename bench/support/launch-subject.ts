/** Starts one small program in several ways. */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { arch, getuid, platform } from 'node:process';

import type { HostBinding, KeyGrants } from '@svc/artifacts/grants/host-bindings.ts';
import { BoundPrograms } from '@svc/capsule/stage/bound-programs.ts';
import { SessionKeys } from '@svc/capsule/stage/session-keys.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { neededFiles } from '@svc/sandbox/closure/needed-files.ts';
import { systemFiles } from '@svc/sandbox/closure/file-collection.ts';
import { containedEnvironment, containedHome } from '@svc/sandbox/contained-environment.ts';
import { type Containment, openPlace } from '@svc/sandbox/containment.ts';
import type { SessionPlace } from '@svc/sandbox/session-containment.ts';
import { hostContainment } from '@svc/sandbox/host-containment.ts';
import { composeRoot } from '@svc/sandbox/launch/compose-plan.ts';
import { mountAttribute, type RootStep } from '@svc/sandbox/launch/launch-plan.ts';
import { minimalGrants, type ProcessGrants } from '@svc/sandbox/launch/process-grants.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';

const program = '/usr/bin/true';
const limits = {
  processes: 128,
  open_files: 1024,
  file_size: 4 * 1024 ** 3,
  cpu: 3600,
  memory: 2 * 1024 ** 3,
  workdir_max_bytes: 10 * 1024 ** 3,
};

/** Starts `true` in several ways; each takes milliseconds a launch, as a mean over `launches` made one after another. */
export interface LaunchSubject {
  contained(launches: number): Promise<number>;
  bare(launches: number): Promise<number>;
  /** With one host granted by its name. */
  reaching(launches: number): Promise<number>;
  /** With that host granted with a credential, which stands ready for the program. */
  keyed(launches: number): Promise<number>;
  /** As `bwrap` does it with the same mounts, namespaces and environment; no filter, no rules, no limits. */
  bubblewrap(launches: number): Promise<number>;
  /** Milliseconds of the first launch of a session with these commands: their files are looked for, and the plan is made. */
  first(commands: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

/** Rejects on a host that does not give `wanted`. */
export async function openLaunches(wanted: ContainmentClass, packageRoot: string): Promise<LaunchSubject> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-bench-')));
  const place = { workdir: join(folder, 'workdir'), privateDirectory: join(folder, 'session') };
  mkdirSync(containedHome(place.workdir), { recursive: true });
  mkdirSync(place.privateDirectory, { mode: 0o700 });
  const containment = await openContainment(wanted, packageRoot, folder);
  const session = await openPlace(containment, place, limits);
  const launcher = session.launcher(grantsFor([]));
  const env = environmentOf(place, wanted);
  const destination = { scheme: 'https', host: 'api.example', port: 443 } as const;
  const reaching = { ...grantsFor([]), networkAllow: [destination] };
  const programs = boundPrograms(destination, place.privateDirectory);
  const bound = programs.networkFor('shell', [destination]);
  if (bound === null) throw new Error('no program would reach the host');
  const keyed = session.launcher({ ...reaching, bound, reads: [programs.bundle] });
  const unkeyed = session.launcher(reaching);
  const withMounts = bubblewrapArguments(place);
  return {
    contained: (launches) => meanMs(launches, () => launchOnce(launcher, env)),
    bare: (launches) => meanMs(launches, () => spawnOnce(program, [], env)),
    reaching: (launches) => meanMs(launches, () => launchOnce(unkeyed, env)),
    keyed: (launches) => meanMs(launches, () => launchOnce(keyed, { ...env, ...bound.variables })),
    bubblewrap: (launches) => meanMs(launches, () => spawnOnce('bwrap', [...withMounts, program], env)),
    first: (commands) => firstMs(containment, { place, commands }),
    close: async () => {
      await session.close();
      programs.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function boundPrograms(destination: HostBinding['destination'], directory: string): BoundPrograms {
  const grants: KeyGrants = {
    bindings: [{ destination, rules: null, credential: 'service', allowsForeign: false }],
    credentials: [
      {
        name: 'service',
        for: ['shell'],
        header: 'authorization',
        scheme: 'bearer',
        user: '',
        signing: null,
        tokenEndpoint: null,
        env: 'SERVICE_TOKEN',
        shape: 'svc-key-',
      },
    ],
  };
  const secrets = new Map([['service', new Secret('key-of-the-bench')]]);
  const keys = new SessionKeys({ grants, secrets, clock: systemClock, tokens: new Map() });
  return new BoundPrograms({
    grants,
    keys,
    network: { proxyFor: null, authorities: null },
    directory,
    clock: systemClock,
  });
}

async function openContainment(
  wanted: ContainmentClass,
  packageRoot: string,
  temporaryDirectory: string,
): Promise<Containment> {
  const containment = await hostContainment({
    packageRoot,
    platform,
    architecture: arch,
    uid: getuid?.() ?? 0,
    kernel: release(),
    cacheDirectory: join(temporaryDirectory, 'cache'),
    temporaryDirectory,
    ceiling: wanted,
  });
  if (containment.achieved === wanted && containment.mechanism !== 'none') return containment;
  throw new Error(`this host gives ${containment.achieved}: ${containment.reason ?? containment.mechanism}`);
}

function grantsFor(commands: readonly string[]): ProcessGrants {
  return { ...minimalGrants, commands, limits };
}

function environmentOf({ workdir }: SessionPlace, achieved: ContainmentClass): Readonly<Record<string, string>> {
  return containedEnvironment({ accessibleWorkdir: workdir, held: process.env, allow: [], achieved });
}

async function meanMs(launches: number, launch: () => Promise<void>): Promise<number> {
  const began = performance.now();
  for (let count = 0; count < launches; count += 1) await launch();
  return (performance.now() - began) / launches;
}

async function launchOnce(launcher: Launcher, env: Readonly<Record<string, string>>): Promise<void> {
  const outcome = await launcher.launch({ command: program, args: [], env, stdin: 'null' });
  if (outcome.kind === 'refused') throw new Error(`${program}: ${outcome.reason}`);
  outcome.process.stdout.resume();
  outcome.process.stderr.resume();
  const end = await outcome.process.ended;
  if (end.kind !== 'exited' || end.exitCode !== 0) throw new Error(`${program} failed: ${JSON.stringify(end)}`);
}

function spawnOnce(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.resume();
    child.stderr.setEncoding('utf8').on('data', (chunk) => (said += chunk));
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command} ended with ${code}: ${said.trim()}`)),
    );
  });
}

async function firstMs(
  containment: Containment,
  { place, commands }: { readonly place: SessionPlace; readonly commands: readonly string[] },
): Promise<number> {
  const session = await openPlace(containment, place, limits);
  try {
    const began = performance.now();
    await launchOnce(session.launcher(grantsFor(commands)), environmentOf(place, containment.achieved));
    return performance.now() - began;
  } finally {
    await session.close();
  }
}

/** The mounts of the plan as `bwrap` spells them. */
function bubblewrapArguments({ workdir }: SessionPlace): readonly string[] {
  const files = neededFiles(
    [program],
    systemFiles,
    (environmentOf({ workdir, privateDirectory: '' }, 'sealed').PATH ?? '').split(':'),
  );
  const steps = composeRoot({ files, grants: grantsFor([]), workdir, proc: true, mapped: false });
  return [
    '--unshare-all',
    '--die-with-parent',
    '--new-session',
    '--hostname',
    'capsule',
    '--cap-drop',
    'ALL',
    ...steps.flatMap(bubblewrapStep),
    '--chdir',
    workdir,
    '--remount-ro',
    '/',
  ];
}

function bubblewrapStep(step: RootStep): string[] {
  switch (step.kind) {
    case 'bind': {
      const kind = (step.attributes & mountAttribute.readOnly) === 0 ? 'bind' : 'ro-bind';
      return [step.target.startsWith('/dev/') ? '--dev-bind' : `--${kind}`, step.source, step.target];
    }
    case 'tmpfs':
    case 'tmp':
      return ['--size', `${step.bytes}`, '--tmpfs', step.target];
    case 'proc':
      return ['--proc', step.target];
    case 'directory':
      return ['--dir', step.target];
    case 'symlink':
      return ['--symlink', step.text, step.target];
  }
}
