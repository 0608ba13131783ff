import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'vitest';
import { kernelContainment } from '../src/containment.ts';
import type { SessionContainment } from '../src/session-containment.ts';
import { containedTemporary } from '../src/contained-environment.ts';
import { minimalGrants, type ProcessGrants, type ResourceLimits } from '../src/launch/process-grants.ts';
import type { LaunchedProcess } from '../src/launcher.ts';
import { ownGroupFacts } from '../src/own-facts.ts';
import type { HeldLimit } from '@svc/protocol/held-limit.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { helperPath } from './native/support/helper.ts';

export interface LimitedOptions {
  readonly ceiling: ContainmentClass;
  readonly limits?: Partial<ResourceLimits>;
  /** What of the ladder there is not. */
  readonly without?: readonly ('groups' | 'users')[];
  readonly base?: string;
}

/** A session of the user of the tests, on a ladder whose steps may be missing. */
export class LimitedSession {
  readonly workdir: string;
  readonly limits: readonly HeldLimit[];
  readonly #session: SessionContainment;
  readonly #grants: ProcessGrants;
  readonly #home: string;
  readonly #program: string;

  private constructor(parts: {
    readonly home: string;
    readonly workdir: string;
    readonly limits: readonly HeldLimit[];
    readonly session: SessionContainment;
    readonly grants: ProcessGrants;
    readonly program: string;
  }) {
    this.#home = parts.home;
    this.workdir = parts.workdir;
    this.limits = parts.limits;
    this.#session = parts.session;
    this.#grants = parts.grants;
    this.#program = parts.program;
  }

  static async open(context: TestContext, options: LimitedOptions): Promise<LimitedSession> {
    const { ceiling, limits, without = [], base = tmpdir() } = options;
    const home = realpathSync(mkdtempSync(join(base, 'svc-limited-')));
    const [workdir, privateDirectory] = [join(home, 'work'), join(home, 'private')];
    for (const directory of [containedTemporary(workdir), privateDirectory]) mkdirSync(directory, { recursive: true });
    const program = join(home, 'svc-launch');
    copyFileSync(helperPath(), program);
    const own = ownGroupFacts();
    const containment = kernelContainment({
      helper: helperPath(),
      ability: {
        filter: true,
        landlockAbi: 6,
        root: { userNamespace: true, proc: true },
        users: !without.includes('users'),
        obstacles: { filter: null, scoped: null, sealed: null },
      },
      ceiling,
      ownGroups: () => (without.includes('groups') ? { ...own, membership: '' } : own),
      architecture: process.arch === 'arm64' ? 'aarch64' : 'x86_64',
      uid: process.getuid?.() ?? 0,
    });
    if (containment === null) throw new Error('a filter is enough for containment');
    const grants = { ...minimalGrants, limits: { ...minimalGrants.limits, ...limits } };
    const hold = await containment.hold({ resources: grants.limits, directories: [workdir] });
    const session = containment.open({ workdir, privateDirectory, hold });
    const opened = new LimitedSession({ home, workdir, limits: hold.limits, session, grants, program });
    context.onTestFinished(() => opened.close());
    return opened;
  }

  /** What enforces a limit, as the session reports it. */
  heldBy(resource: HeldLimit['resource'], of: HeldLimit['of']): string | undefined {
    return this.limits.find((each) => each.resource === resource && each.of === of)?.held_by;
  }

  async launch(
    command: string,
    args: readonly string[],
    changes: Partial<ProcessGrants> = {},
  ): Promise<LaunchedProcess> {
    const launcher = this.#session.launcher({ ...this.#grants, ...changes });
    const env = { PATH: '/usr/bin:/bin' };
    const outcome = await launcher.launch({ command, args, env, stdin: 'pipe' });
    if (outcome.kind === 'refused') throw new Error(outcome.reason);
    return outcome.process;
  }

  /** How many of so many processes lived at once, in one launch. */
  async forks(count: number): Promise<number> {
    const launched = await this.launch(this.#program, ['forks', `${count}`]);
    const [said, complaint] = await Promise.all([text(launched.stdout), text(launched.stderr), launched.ended]);
    if (complaint !== '') throw new Error(complaint);
    return Number(said);
  }

  /** As many children at once as there may be, up to 600, of each of those of so many launches for which there was room. */
  async forksTogether(launches: number): Promise<readonly number[]> {
    const started = await Promise.allSettled(
      Array.from({ length: launches }, () => this.launch('python3', ['-c', forkAndWait], { commands: ['python3'] })),
    );
    // A quick launch may leave no room for the others.
    const all = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const counts = await Promise.all(all.map(async ({ stdout }) => Number((await once(stdout, 'data'))[0])));
    for (const each of all) each.stdin?.end();
    await Promise.all(all.map(({ ended }) => ended));
    return counts;
  }

  /** What a command line of bash printed, and what limits it reached. */
  async bash(
    line: string,
  ): Promise<{ readonly out: string; readonly err: string; readonly reached: readonly string[] }> {
    const launched = await this.launch('bash', ['-c', line], {
      commands: ['bash', 'cat', 'ls', 'python3', 'setsid', 'sleep'],
    });
    launched.stdin?.end();
    const [out, err] = await Promise.all([text(launched.stdout), text(launched.stderr), launched.ended]);
    return { out, err, reached: launched.limitsReached?.() ?? [] };
  }

  async close(): Promise<void> {
    await this.#session.close();
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** Says how many it could start, and ends them once nobody has its input any more. */
const forkAndWait = `
import os, sys, signal
children = []
try:
    while len(children) < 600:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError:
    pass
print(len(children), flush=True)
sys.stdin.read()
for child in children:
    os.kill(child, 9)
`;
