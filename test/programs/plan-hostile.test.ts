import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { onlySession, taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { addComponentTool } from '../support/component-tool.ts';
import { canceled, working } from '../support/frame-lines.ts';
import { Gate } from '../support/gate.ts';
import { answerOf, artifacts, planLines, submits } from '../support/plan-answers.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { staysUp, type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';

const capsules = useStreamedCapsules();
const folders = useCapsules();

const commands = `capabilities: { shell: { allow: [sh] }, plan: { submit: true } }\n`;

/** With a component that does what its arguments say. */
async function probing(script: string): Promise<StreamedCapsule> {
  const manifest = `artifacts: [{ name: probe, version: 1.0.0, source: ./probe }]\n${commands}${staysUp}`;
  const workspace = scriptCapsule({ manifest, script });
  addComponentTool(workspace, 'probe', await fixtureComponent('probe-tool'));
  return await capsules.from(workspace);
}

function keptPlan(capsule: StreamedCapsule): unknown {
  const file = join(dirname(tracePath(capsule.workspace, capsule.line.session_id)), 'plans', '1-p.json');
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Cancels the task of a stream and gives the frames of it. */
async function cancel(
  capsule: StreamedCapsule,
  stream: Awaited<ReturnType<StreamedCapsule['submit']>>,
): Promise<readonly string[]> {
  const { data } = await stream.status('working', 'inference turn 1');
  await capsule.rpc('tasks/cancel', { id: data['id'] });
  return (await stream.untilClosed()).lines;
}

const cutOff = {
  event_type: 'plan_end',
  plan_id: 'p',
  outcome: 'canceled',
  failed: 0,
  skipped: 0,
  file: 'plans/1-p.json',
  duration_ms: 'number',
};

describe('a plan whose task is canceled', () => {
  it('ends a command that runs, starts none, and says what became of each step', async () => {
    const steps = [
      { id: 'quick', shell: 'sh', input: 'true' },
      { id: 'waits', shell: 'sh', input: Gate.command, depends_on: ['quick'], on_error: 'continue', retries: 5 },
      { id: 'later', shell: 'sh', input: 'touch ran', depends_on: ['waits'] },
    ];
    const capsule = await capsules.script({ manifest: `${commands}${staysUp}`, script: submits({ id: 'p', steps }) });
    const gate = new Gate(capsule.line.workdir);
    const stream = await capsule.submit('Wait.');
    await gate.reached();
    expect(await cancel(capsule, stream)).toEqual([`0 ${working(1)}`, `1 ${canceled()}`]);
    expect(planLines(capsule)).toEqual([
      { event_type: 'plan_start', plan_id: 'p', steps: 3 },
      {
        event_type: 'plan_step',
        plan_id: 'p',
        step_id: 'quick',
        outcome: 'passed',
        kind: 'shell',
        name: 'sh',
        arguments: { command: 'true' },
        attempts: 1,
        exit_code: 0,
        start_ms: 'number',
        duration_ms: 'number',
      },
      { ...cutOff, passed: 1, canceled: 2 },
    ]);
    expect(keptPlan(capsule)).toMatchObject({
      outcome: 'canceled',
      steps: [{ status: 'passed' }, { id: 'waits', status: 'canceled' }, { id: 'later', status: 'canceled' }],
    });
    expect(() => statSync(join(capsule.line.workdir, 'ran'))).toThrow('ENOENT');
  });

  it('ends a component that never answers', async () => {
    const steps = [{ id: 'loops', tool: 'probe', input: { op: 'loop', first: 'Round and round.' } }];
    const capsule = await probing(submits({ id: 'p', steps }));
    const stream = await capsule.submit('Loop.');
    await stream.until(({ event }) => event === 'text');
    expect((await cancel(capsule, stream)).at(-1)).toBe(`1 ${canceled()}`);
    expect(planLines(capsule)).toEqual([
      { event_type: 'plan_start', plan_id: 'p', steps: 1 },
      { ...cutOff, passed: 0, canceled: 1 },
    ]);
  });
});

describe('a step that answers more than a plan can hold', () => {
  it('appears in part, and hands nothing on', async () => {
    const steps = [
      { id: 'hopeless', tool: 'probe', input: { op: 'large', megabytes: 40 }, on_error: 'skip' },
      { id: 'large', tool: 'probe', input: { op: 'large', megabytes: 24 } },
      { id: 'next', tool: 'probe', input: { op: 'echo', x: '{{steps.large.output}}' }, depends_on: ['large'] },
    ];
    const capsule = await probing(submits({ id: 'p', steps }));
    const { frames } = await (await capsule.submit('Fill it.')).untilClosed();
    expect(artifacts(frames)[0]).toMatchObject({ is_error: true, truncated: true });
    expect(answerOf(artifacts(frames)[0])).toMatchObject({
      steps: [
        {
          id: 'hopeless',
          status: 'failed',
          output:
            'the tool probe broke off: the component gave a value of more than 64 MiB, in which a character is two bytes: give a part of it, or write it to a file',
        },
        { id: 'large', status: 'passed', output: 'y'.repeat(16_384), cut: true },
        { id: 'next', status: 'failed', reason: 'the output of step large is not whole, so it is not handed on' },
      ],
    });
    expect(keptPlan(capsule)).toMatchObject({ steps: [{}, { output: 'y'.repeat(65_536), cut: true }, {}] });
  });
});

describe('a component of several steps', () => {
  it('serves the next one after it broke off in one of them', async () => {
    const steps = [
      { id: 'breaks', tool: 'probe', input: { op: 'fail', message: 'on purpose' }, on_error: 'continue', retries: 1 },
      { id: 'works', tool: 'probe', input: { op: 'echo', said: 'fine' }, depends_on: ['breaks'] },
    ];
    const capsule = await probing(submits({ id: 'p', steps }));
    const { frames } = await (await capsule.submit('Break.')).untilClosed();
    expect(answerOf(artifacts(frames)[0])).toMatchObject({
      outcome: 'passed',
      steps: [
        {
          id: 'breaks',
          status: 'failed',
          attempts: 2,
          output: expect.stringMatching(/^the tool probe broke off: [^]*on purpose/),
        },
        { id: 'works', status: 'passed', output: '{"op":"echo","said":"fine"}' },
      ],
    });
  });
});

describe('a disk that cannot take the record of a plan (needs root, to mount one)', () => {
  const isRoot = process.getuid?.() === 0;

  it.skipIf(!isRoot)('costs neither the plan nor the session, and the answer says so', async () => {
    const fill = Array.from({ length: 6 }, (_, n) => ({
      id: `s${n}`,
      shell: 'sh',
      input: "head -c 16000 /dev/zero | tr '\\0' a",
    }));
    const workspace = folders({ manifest: commands, script: submits({ id: 'p', steps: fill }), files: taskFile });
    const small = join(workspace.folder, 'small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]);
    try {
      mkdirSync(join(workspace.folder, '.svc'));
      symlinkSync(small, join(workspace.folder, '.svc', 'sessions'));
      expect((await svc(workspace, ['run'])).stdout).toMatch(/\nstatus: {2}ok\n$/);
      const session = join(small, onlySession(workspace));
      const trace = readFileSync(join(session, 'trace.jsonl'), 'utf8').trimEnd().split('\n');
      const end = trace
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .find((line) => line['event_type'] === 'plan_end');
      expect(end).toMatchObject({ outcome: 'passed', passed: 6, file: null });
      expect(end?.['error']).toMatch(/^cannot write to .*plans: no space left on the device$/);
      expect(readdirSync(join(session, 'plans'))).toEqual([]);
    } finally {
      execFileSync('umount', [small]);
    }
  });
});
