import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { answers, echo, planTool, shown, usePlanBench } from '../../../../../test/support/plan-bench.ts';

const { bench, sessionDirectory } = usePlanBench();

describe('a submitted plan', () => {
  it('answers with every step, is recorded, and is kept beside the trace for its owner alone', async () => {
    const sh = planTool('sh', answers('exit code: 0\nstdout:\nhi', { output: 'hi\n', exitCode: 0 }), 'shell');
    const { submit, traced } = bench({ tools: [echo, sh] });
    const steps = [
      { id: 'hi', shell: 'sh', input: 'echo hi' },
      { id: 'say', tool: 'echo', input: { text: 'It says {{steps.hi.output}}' }, depends_on: ['hi'] },
      { id: 'never', tool: 'echo', if: { step: 'say', is: 'skipped' } },
    ];
    const call = await submit(steps, 'greet');
    expect(call).toMatchObject({
      kind: 'runtime',
      fenceSource: 'tool:submit-plan',
      isError: false,
      truncated: false,
      exitCode: null,
    });
    const reported = [
      { id: 'hi', status: 'passed', output: 'exit code: 0\nstdout:\nhi' },
      { id: 'say', status: 'passed', output: '{"text":"It says hi\\n"}' },
      { id: 'never', status: 'skipped', reason: 'it runs if step "say" is skipped, which is passed' },
    ];
    expect(shown(call)).toEqual({
      plan: 'greet',
      outcome: 'passed',
      steps: reported,
      record: 'plans/1-greet.json, beside the trace, out of reach of tools',
    });
    const ids = { task_id: 'tsk_1', plan_id: 'greet' };
    const times = { attempts: 1, start_ms: 1000, duration_ms: 0 };
    expect(traced).toEqual([
      { event_type: 'plan_start', ...ids, steps: 3 },
      {
        event_type: 'plan_step',
        ...ids,
        step_id: 'hi',
        outcome: 'passed',
        kind: 'shell',
        name: 'sh',
        arguments: { command: 'echo hi' },
        exit_code: 0,
        ...times,
      },
      {
        event_type: 'plan_step',
        ...ids,
        step_id: 'say',
        outcome: 'passed',
        kind: 'tool',
        name: 'echo',
        arguments: { text: 'It says hi\n' },
        exit_code: null,
        ...times,
      },
      {
        event_type: 'plan_step',
        ...ids,
        step_id: 'never',
        outcome: 'skipped',
        kind: 'tool',
        name: 'echo',
        arguments: null,
        exit_code: null,
        reason: 'it runs if step "say" is skipped, which is passed',
        attempts: 0,
        start_ms: 1000,
        duration_ms: 0,
      },
      {
        event_type: 'plan_end',
        ...ids,
        outcome: 'passed',
        passed: 2,
        failed: 0,
        skipped: 1,
        canceled: 0,
        file: 'plans/1-greet.json',
        duration_ms: 0,
      },
    ]);
    const file = join(sessionDirectory(), 'plans', '1-greet.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      task_id: 'tsk_1',
      outcome: 'passed',
      steps: reported,
      plan: { id: 'greet', steps },
    });
    expect([statSync(file).mode & 0o777, statSync(join(sessionDirectory(), 'plans')).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
  });

  it('fails whole, in the words of the runtime, before anything runs', async () => {
    const { submit, traced } = bench({ tools: [planTool('echo', () => Promise.reject(new Error('it ran')))] });
    const call = await submit([
      { id: 'a', tool: 'echo' },
      { id: 'b', tool: 'ecko', depends_on: ['c'] },
    ]);
    expect(call.content).toBe(
      [
        'the plan is not run, nothing of it has started:',
        'step "b" names the tool "ecko", which does not exist',
        'step "b" names "c" in depends_on, which is not a step of the plan',
      ].join('\n'),
    );
    expect(call).toMatchObject({ isError: true, reached: false, fenceSource: null });
    expect({ traced, kept: readdirSync(sessionDirectory()) }).toEqual({ traced: [], kept: [] });
  });

  it('returns an error when a failure ended it, and names the step', async () => {
    const sh = planTool('sh', answers('exit code: 3', { output: '', exitCode: 3 }), 'shell');
    const call = await bench({ tools: [sh, echo] }).submit([
      { id: 'a', shell: 'sh', input: 'exit 3', retries: 1 },
      { id: 'b', tool: 'echo', depends_on: ['a'] },
    ]);
    expect(call.isError).toBe(true);
    expect(shown(call)).toMatchObject({
      outcome: 'failed',
      steps: [
        { id: 'a', status: 'failed', attempts: 2, output: 'exit code: 3' },
        { id: 'b', status: 'skipped', reason: 'step "a" failed and ended the plan' },
      ],
    });
  });

  it('has a number of its own, also when two of one id run at the same time', async () => {
    const { submit } = bench({ tools: [echo] });
    const both = await Promise.all([submit([{ id: 'a', tool: 'echo' }]), submit([{ id: 'a', tool: 'echo' }])]);
    expect(both.map((call) => shown(call).record?.split(',')[0])).toEqual(['plans/1-p.json', 'plans/2-p.json']);
    expect(readdirSync(join(sessionDirectory(), 'plans')).toSorted()).toEqual(['1-p.json', '2-p.json']);
  });

  it('goes into its file without secrets', async () => {
    await bench({ tools: [echo] }).submit([{ id: 'a', tool: 'echo', input: { key: 's3cret' } }]);
    const text = readFileSync(join(sessionDirectory(), 'plans', '1-p.json'), 'utf8');
    expect(text).toContain('[redacted]');
    expect(text).not.toContain('s3cret');
  });

  it('stays usable when it cannot be kept: the answer says why', async () => {
    writeFileSync(join(sessionDirectory(), 'plans'), 'in the way');
    const { submit, traced } = bench({ tools: [echo] });
    const call = await submit([{ id: 'a', tool: 'echo', input: { n: 1 } }]);
    expect(call.isError).toBe(false);
    expect(shown(call)).toMatchObject({ outcome: 'passed', steps: [{ id: 'a', status: 'passed', output: '{"n":1}' }] });
    expect(shown(call).record_problem).toMatch(/^cannot make the directory .*plans: /);
    expect(traced.at(-1)).toMatchObject({ event_type: 'plan_end', file: null, error: shown(call).record_problem });
    expect(readdirSync(sessionDirectory())).toEqual(['plans']);
  });

  it('leaves nothing half written behind', async () => {
    mkdirSync(join(sessionDirectory(), 'plans', '1-p.json', 'in-the-way'), { recursive: true });
    const call = await bench({ tools: [echo] }).submit([{ id: 'a', tool: 'echo' }]);
    expect(shown(call).record_problem).toMatch(/^cannot write .*1-p\.json: /);
    expect(readdirSync(join(sessionDirectory(), 'plans'))).toEqual(['1-p.json']);
  });
});

describe('a plan whose task is canceled', () => {
  it('stops the step that never answers, starts no other and says what became of each', async () => {
    const cancel = new AbortController();
    let started = (): void => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const never = planTool('never', (_args, { signal }) => {
      started();
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
      );
    });
    const { submit, traced } = bench({ tools: [never, echo], signal: cancel.signal });
    const call = submit([
      { id: 'a', tool: 'never', retries: 5, on_error: 'continue' },
      { id: 'b', tool: 'echo', depends_on: ['a'] },
    ]);
    await running;
    const reason = new Error('the task was canceled');
    cancel.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(traced.map((event) => event.event_type)).toEqual(['plan_start', 'plan_end']);
    expect(traced[1]).toMatchObject({ outcome: 'canceled', passed: 0, canceled: 2, file: 'plans/1-p.json' });
    expect(JSON.parse(readFileSync(join(sessionDirectory(), 'plans', '1-p.json'), 'utf8'))).toMatchObject({
      outcome: 'canceled',
      steps: [
        { id: 'a', status: 'canceled' },
        { id: 'b', status: 'canceled' },
      ],
    });
  });
});

describe('a plan that cannot be recorded', () => {
  const calls: string[] = [];
  const spy = planTool('spy', async () => {
    calls.push('spy');
    return { status: 'passed', content: '', exitCode: null, truncated: false };
  });
  beforeEach(() => calls.splice(0));

  it('never begins', async () => {
    const call = await bench({ tools: [spy], record: () => false }).submit([{ id: 'a', tool: 'spy' }]);
    expect({ content: call.content, calls }).toEqual({
      content: 'the plan is not run: the trace cannot be written',
      calls: [],
    });
  });

  it('any longer starts nothing more', async () => {
    const { submit } = bench({ tools: [spy], record: ({ event_type: type }) => type === 'plan_start' });
    const call = await submit([
      { id: 'a', tool: 'spy' },
      { id: 'b', tool: 'spy', depends_on: ['a'] },
    ]);
    expect({ outcome: shown(call).outcome, calls }).toEqual({ outcome: 'canceled', calls: ['spy'] });
  });
});
