import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, type TestContext, vi } from 'vitest';

import type { ComponentSource } from '@svc/components/compiler/compile-cache.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import { readTrace } from '../support/read-trace.ts';
import { componentText, toolRunning } from '../../packages/components/test/support/component-text.ts';
import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { whereClassIs } from '../containment/use-capsule.ts';
import { tracePath, useCapsules } from '../support/capsule-folders.ts';
import { componentProcesses } from '../support/component-processes.ts';
import { addComponentTool } from '../support/component-tool.ts';
import { isGone } from '../support/is-gone.ts';
import type { ScriptCapsule } from '../support/script-capsule.ts';
import { staysUp, type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 120_000 });

const folders = useCapsules();
const capsules = useStreamedCapsules();

/** Calls the tool `it` once for each of the inputs, one a turn, and then says `Done.` */
function calls(...inputs: readonly unknown[]): string {
  return [...inputs.map((input) => turn('it', input)), says('Done.')].join('');
}

/** A turn with one call. */
function turn(tool: string, input: unknown): string {
  return `- content: [{ type: tool_call, id: call_1, name: ${tool}, input: ${JSON.stringify(input)} }]\n  stop_reason: tool_call\n`;
}

function says(text: string): string {
  return `- content: [{ type: text, text: ${text} }]\n  stop_reason: end_turn\n`;
}

function capsule(tool: ComponentSource, { manifest = '', ...options }: ScriptCapsule): Workspace {
  const artifacts = 'artifacts: [{ name: it, version: 1.0.0, source: ./it }]\n';
  const workspace = folders({ manifest: `${artifacts}${manifest}`, ...options });
  addComponentTool(workspace, 'it', tool);
  return workspace;
}

interface Ran {
  readonly code: number | null;
  readonly status: unknown;
  readonly results: readonly unknown[];
}

/** A session of one task, and what its trace says of its calls and of its end. */
async function ran(workspace: Workspace): Promise<Ran> {
  const end = await svc(workspace, ['run', '--json', '--task', 'go']);
  const { session_id: session } = JSON.parse(end.stdout.split('\n')[0] ?? '') as { session_id: string };
  const lines = readTrace(tracePath(workspace, session));
  const results = lines.filter(({ event_type: type }) => type === 'tool_call').map((line) => line['is_error']);
  const [last] = lines.slice(-1);
  return { code: end.code, status: last?.['event_type'] === 'session_end' ? last['status'] : null, results };
}

const fine = { code: 0, status: 'ok' };
const grow = (count: number): string =>
  Array.from(
    { length: count },
    (_, index) => `(drop (table.grow $t${index} (ref.null func) (i32.const 10000000)))`,
  ).join(' ');
const tables = (count: number): string =>
  Array.from({ length: count }, (_, index) => `(table $t${index} 0 10000000 funcref)`).join(' ');

describe('a session', () => {
  it('goes on when a component grows eight tables to ten million entries each', async () => {
    const tool = await componentText(toolRunning(grow(8), tables(8)));
    expect(await ran(capsule(tool, { script: calls({}, {}) }))).toEqual({ ...fine, results: [false, false] });
  });

  it('goes on when a component declares them, and says why it cannot be used', async () => {
    const declared = Array.from({ length: 8 }, () => '(table 10000000 funcref)').join(' ');
    const tool = await componentText(toolRunning('', declared));
    expect(await ran(capsule(tool, { script: calls({}) }))).toEqual({ ...fine, results: [true] });
  });

  it('goes on when a component makes its host keep gigabytes', async () => {
    const tool = await fixtureComponent('grow-tool');
    const limits = 'capabilities: { limits: { memory: 32Mi } }\n';
    const inputs = [{ op: 'values of one header', rounds: 3_000, every: 1_000 }, { op: 'echo' }];
    expect(await ran(capsule(tool, { manifest: limits, script: calls(...inputs) }))).toEqual({
      ...fine,
      results: [true, false],
    });
  });

  it('goes on when a component shows more than any text can hold', async () => {
    // NUL characters; each takes six in JSON: 564 MB in all.
    const again = '(local.set 0 (i32.sub (local.get 0) (i32.const 1))) (br_if $again (local.get 0))';
    const shown = `(loop $again (call $text (i32.const 2048) (i32.const 122880)) ${again})`;
    const tool = await componentText(toolRunning(`(local.set 0 (i32.const 800)) ${shown}`));
    expect(await ran(capsule(tool, { script: calls({}) }))).toEqual({ ...fine, results: [false] });
  });
});

interface LoopingCapsule {
  /** Lines of the manifest beside its life. */
  readonly manifest?: string;
  /** Turns before the component is called. */
  readonly before?: string;
  readonly life?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A capsule with a component whose first call says so and runs round and round. */
async function looping(options: LoopingCapsule = {}): Promise<{ running: StreamedCapsule; pid: number }> {
  const { manifest = '', before = '', life = staysUp, env } = options;
  const body = '(if (i32.gt_u (local.get 1) (i32.const 2)) (then (call $emit) (loop $again (br $again))))';
  const tool = await componentText(toolRunning(body));
  const script = `${before}${calls({ op: 'loop' }, {})}`;
  const running = await capsules.from(capsule(tool, { manifest: `${life}${manifest}`, script }), env);
  const stream = await running.submit('Loop.');
  await stream.until(({ event }) => event === 'text');
  // The component of the driver is done soon, and waits.
  const pid = await vi.waitFor(
    () => {
      const [busy, ...others] = componentProcesses(running.line.pid).filter(isBusy);
      if (busy === undefined || others.length > 0) throw new Error('not one of them alone is busy');
      return busy;
    },
    { timeout: 20_000, interval: 20 },
  );
  return { running, pid };
}

/** It runs, or could: it does not wait for a message. */
function isBusy(pid: number): boolean {
  return /\) R /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

async function gone(...pids: readonly number[]): Promise<void> {
  await vi.waitFor(() => expect(pids.filter((pid) => !isGone(pid))).toEqual([]), { timeout: 20_000, interval: 20 });
}

describe('the process of a component', () => {
  it.each(['SIGABRT', 'SIGSEGV', 'SIGKILL'] as const)('takes nothing along when it ends with %s', async (signal) => {
    const { running, pid } = await looping();
    const stream = await running.watch();
    process.kill(pid, signal);
    await stream.until(({ data }) => data['final'] === true);
    const results = running.trace.filter(({ event_type: type }) => type === 'tool_call');
    expect(results.map((line) => line['is_error'])).toEqual([true, false]);
    await running.terminate();
    expect(running.trace.at(-1)).toMatchObject({ event_type: 'session_end', status: 'ok' });
  });

  it('does not outlive a session that was killed, however busy it is', async () => {
    const { running, pid } = await looping();
    const all = [...componentProcesses(running.line.pid), ...guardsOf(running.line.pid)];
    expect(all).toContain(pid);
    process.kill(running.line.pid, 'SIGKILL');
    await gone(...all);
  });

  it('disappears with the session', async () => {
    const { running, pid } = await looping();
    const all = [...componentProcesses(running.line.pid), ...guardsOf(running.line.pid)];
    expect(all).toContain(pid);
    await running.terminate();
    expect(all.filter((each) => !isGone(each))).toEqual([]);
  });

  it('may hold three times its memory and 576 MiB, leaves no core file, and is the first to go where memory ends', async () => {
    const { pid } = await looping({ manifest: 'capabilities: { limits: { memory: 32Mi } }\n' });
    expect(limitOf(pid, 'Max data size')).toBe(String((576 + 3 * 32) * 1024 * 1024));
    expect(limitOf(pid, 'Max core file size')).toBe('0');
    expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'latin1')).toBe('1000\n');
  });

  it('has no variable, and no descriptor but those it needs', async () => {
    const { pid, running } = await looping();
    expect(readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').filter(isForeign)).toEqual([]);
    const open = (): string[] => descriptorsOf(pid).filter((target) => target !== running.line.workdir);
    const kinds = (): string[] => open().map((target) => target.replace(/\[?:?\d+\]?$/, ''));
    // Node itself may still be reading a file of its own for a moment.
    await expect
      .poll(() => kinds().filter((kind) => !/^(socket:|pipe:|anon_inode:|\/dev\/(null|urandom)$)/.test(kind)))
      .toEqual([]);
    const given = open().filter((target) => target.startsWith('socket:'));
    expect(given.length).toBeLessThanOrEqual(2);
  });
});

/** What a process holds open; one that it closes meanwhile is passed over. */
function descriptorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    const target = unlessErrno(['ENOENT'], () => readlinkSync(`/proc/${pid}/fd/${name}`), null);
    return target === null ? [] : [target];
  });
}

/** Waits in the background, and has said as which process. */
const command = 'echo $$ > self; exec sleep 1000';

/** The same capsule in `scoped`, whose commands are processes among all others; its model has started one that goes on in the background. */
async function loopingBesideCommand(
  context: TestContext,
): Promise<{ running: StreamedCapsule; pid: number; background: number }> {
  const options = {
    before: turn('sh', { command }),
    life: 'lifecycle: { task_acceptance: queue, after_task: sleep, shell_grace_secs: 1 }\n',
    manifest: 'capabilities: { containment: scoped, shell: { allow: [sh, sleep] } }\n',
    env: { SVC_CONTAINMENT_CEILING: 'scoped' },
  };
  const { running, pid } = await whereClassIs(context, 'scoped', async () => await looping(options));
  const background = Number(readFileSync(join(running.line.workdir, 'self'), 'utf8'));
  expect({ gone: isGone(background), states: statesOf(running) }).toEqual({ gone: false, states: ['moved'] });
  return { running, pid, background };
}

/** What the trace says became of the command. */
function statesOf({ trace }: StreamedCapsule): readonly unknown[] {
  return trace.filter(({ event_type: type }) => type === 'background_command').map(({ state }) => state);
}

describe('a command that goes on in the background in scoped', () => {
  it('outlives a component that aborts, as its session does, and is gone when the session has ended', async (context) => {
    const { running, pid, background } = await loopingBesideCommand(context);
    const stream = await running.watch();
    process.kill(pid, 'SIGABRT');
    await stream.until(({ data }) => data['final'] === true);
    expect(isGone(background)).toBe(false);
    await running.terminate();
    expect({ gone: isGone(background), states: statesOf(running) }).toEqual({
      gone: true,
      states: ['moved', 'stopped'],
    });
    expect(running.trace.at(-1)).toMatchObject({ event_type: 'session_end', status: 'ok' });
  });

  it('disappears with the session while its component is busy', async (context) => {
    const { running, background } = await loopingBesideCommand(context);
    await running.terminate();
    expect({ gone: isGone(background), states: statesOf(running) }).toEqual({
      gone: true,
      states: ['moved', 'stopped'],
    });
  });

  it('does not outlive a session that aborts', async (context) => {
    const { running, background } = await loopingBesideCommand(context);
    process.kill(running.line.pid, 'SIGABRT');
    await gone(background);
    expect(isGone(background)).toBe(true);
  });
});

/** As the kernel lists them, in the units of its list. */
function limitOf(pid: number, name: string): string | undefined {
  return new RegExp(`^${name} +(\\d+|unlimited) `, 'm').exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1];
}

/** A shell of some systems adds where it is. */
function isForeign(variable: string): boolean {
  return variable !== '' && !/^(PWD|OLDPWD|SHLVL|_)=/.test(variable);
}

/** The shells that watch over the components of a process. */
function guardsOf(owner: number): number[] {
  const listed = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return [...listed.matchAll(/^ *(\d+) +(\d+) .*svc-component/gm)]
    .filter(([, , parent]) => Number(parent) === owner)
    .map(([, pid]) => Number(pid));
}
