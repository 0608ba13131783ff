import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, type TestContext } from 'vitest';

import { containedEnvironment, containedTemporary } from '../src/contained-environment.ts';
import { type Containment, openPlace } from '../src/containment.ts';
import { hostContainment } from '../src/host-containment.ts';
import { minimalGrants } from '../src/launch/process-grants.ts';
import type { Launcher } from '../src/launcher.ts';

const packageRoot = fileURLToPath(new URL('../../../', import.meta.url));

/** What this process and its directories hold. */
interface Holdings {
  readonly descriptors: number;
  /** Ends of pipes, not counted above: a session holds some for launches to come. */
  readonly pipes: number;
  readonly mounts: number;
  readonly children: number;
  readonly files: readonly string[];
}

async function containmentOf(context: TestContext, ceiling: 'sealed' | 'scoped', home: string): Promise<Containment> {
  const containment = await hostContainment({
    packageRoot,
    platform: process.platform,
    architecture: process.arch,
    uid: process.getuid?.() ?? 0,
    kernel: release(),
    cacheDirectory: join(home, 'cache'),
    temporaryDirectory: tmpdir(),
    ceiling,
  });
  if (containment.achieved !== ceiling) {
    if (process.env['REQUIRE_CONTAINMENT'] === 'sealed') throw new Error(containment.reason ?? '');
    context.skip(true, `needs a host that achieves ${ceiling}`);
  }
  return containment;
}

async function echo(launcher: Launcher, env: Readonly<Record<string, string>>, word: string): Promise<string> {
  const outcome = await launcher.launch({ command: 'bash', args: ['-c', `echo ${word}`], env, stdin: 'null' });
  if (outcome.kind === 'refused') return outcome.reason;
  const { stdout, stderr, ended } = outcome.process;
  const [said, complained] = await Promise.all([text(stdout), text(stderr), ended]);
  return said + complained;
}

function holdings(directory: string): Holdings {
  const targets = readdirSync('/proc/self/fd').map(targetOf);
  const pipes = targets.filter((target) => target.startsWith('pipe:')).length;
  return {
    descriptors: targets.length - pipes,
    pipes,
    mounts: readFileSync('/proc/self/mountinfo', 'utf8').split('\n').length,
    children: readFileSync('/proc/self/task/' + String(process.pid) + '/children', 'utf8').split(' ').length,
    files: readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort(),
  };
}

/** Returns what there is more of now than before, without pipes: the names of numbers, and files. */
function grown(now: Holdings, before: Holdings): readonly string[] {
  const more = (['descriptors', 'mounts', 'children'] as const).filter((key) => now[key] > before[key]);
  return [...more, ...now.files.filter((file) => !before.files.includes(file))];
}

function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch (error) {
    // The one that lists them is gone.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return '';
  }
}

describe.each(['sealed', 'scoped'] as const)('launches in %s', (ceiling) => {
  it('come by the hundreds, fifty at once, and leave no descriptor, mount, process or file', async (context) => {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-launches-')));
    context.onTestFinished(() => rmSync(home, { recursive: true }));
    const containment = await containmentOf(context, ceiling, home);
    const [workdir, privateDirectory] = [join(home, 'work'), join(home, 'private')];
    for (const directory of [containedTemporary(workdir), privateDirectory]) mkdirSync(directory, { recursive: true });
    const { pipes } = holdings(home);
    const { limits } = minimalGrants;
    const session = await openPlace(containment, { workdir, privateDirectory }, limits);
    const launcher = session.launcher({ ...minimalGrants, commands: ['bash'] });
    const env = containedEnvironment({
      accessibleWorkdir: workdir,
      achieved: ceiling,
      held: { PATH: '/usr/bin:/bin' },
      allow: [],
    });
    expect(await echo(launcher, env, 'first')).toBe('first\n');
    const before = holdings(home);
    for (let round = 0; round < 10; round += 1) {
      const words = Array.from({ length: 50 }, (_, index) => `word-${round}-${index}`);
      const said = await Promise.all(words.map((word) => echo(launcher, env, word)));
      expect(said).toEqual(words.map((word) => `${word}\n`));
    }
    // What makes pipes ahead may be at it, then and now.
    await expect.poll(() => grown(holdings(home), before)).toEqual([]);
    expect(holdings(home).pipes - pipes).toBeLessThanOrEqual(64 + 16);
    await session.close();
    await expect.poll(() => holdings(home).descriptors).toBeLessThan(before.descriptors);
    await expect.poll(() => holdings(home).pipes).toBe(pipes);
  }, 120_000);
});
