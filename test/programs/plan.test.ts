import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { tracePath } from '../support/capsule-folders.ts';
import { completed, reply, resumed, waiting, working } from '../support/frame-lines.ts';
import { answerOf, artifacts, planLines, submits } from '../support/plan-answers.ts';
import { calls, runs, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

const planner = `artifacts:
  - { name: svc-tool-editor, version: 1.0.0 }
  - { name: svc-tool-request-input, version: 1.0.0 }
capabilities: { shell: { allow: [sh, ls] }, plan: { submit: true } }
${staysUp}`;

const guide = fileURLToPath(new URL('../../docs/plans.md', import.meta.url));

/** The plan that the guide shows. */
function planOfGuide(): unknown {
  return JSON.parse(/```json\n([^]*?)```/.exec(readFileSync(guide, 'utf8'))?.[1] ?? '');
}

describe('the plan of the guide', () => {
  it('runs commands and a component in its order, is one call, and is recorded and kept', async () => {
    const capsule = await capsules.script({
      manifest: planner,
      script: script(runs('touch a.txt b.txt'), calls([['plan_1', 'submit-plan', planOfGuide()]]), says('Done.')),
    });
    const { frames, lines } = await (await capsule.submit('Count.')).untilClosed();
    expect(capsule.trace[0]?.['tools_declared']).toEqual([
      'ls',
      'sh',
      'submit-plan',
      'svc-tool-editor',
      'svc-tool-request-input',
    ]);
    expect(frames.map(({ event }) => event)).toEqual([
      'status',
      'artifact',
      'status',
      'artifact',
      'status',
      'text',
      'status',
    ]);
    expect(lines.at(-1)).toBe(`6 ${completed()}`);
    const [, artifact] = artifacts(frames);
    expect(artifact).toMatchObject({
      tool_name: 'submit-plan',
      fence_source: 'tool:submit-plan',
      tool_call_id: 'plan_1',
      is_error: false,
      exit_code: null,
      truncated: false,
    });
    const steps = [
      { id: 'list', status: 'passed', output: 'command: ls -1\nexit code: 0\nstdout:\na.txt\nb.txt\nstderr: (empty)' },
      { id: 'keep', status: 'passed', output: expect.stringContaining('out/files.txt') },
      {
        id: 'count',
        status: 'passed',
        output: 'command: wc -l < out/files.txt\nexit code: 0\nstdout:\n2\nstderr: (empty)',
      },
      { id: 'tell', status: 'skipped', reason: 'it runs if step "keep" is failed, which is passed' },
    ];
    expect(answerOf(artifact)).toEqual({
      plan: 'count',
      outcome: 'passed',
      steps,
      record: 'plans/1-count.json, beside the trace, out of reach of tools',
    });
    const step = { event_type: 'plan_step', plan_id: 'count', attempts: 1, start_ms: 'number', duration_ms: 'number' };
    expect(planLines(capsule)).toEqual([
      { event_type: 'plan_start', plan_id: 'count', steps: 4 },
      {
        ...step,
        step_id: 'list',
        outcome: 'passed',
        kind: 'shell',
        name: 'ls',
        arguments: { command: '-1' },
        exit_code: 0,
      },
      {
        ...step,
        step_id: 'keep',
        outcome: 'passed',
        kind: 'tool',
        name: 'svc-tool-editor',
        arguments: { command: 'write', path: 'out/files.txt', content: 'a.txt\nb.txt\n' },
        exit_code: null,
      },
      {
        ...step,
        step_id: 'tell',
        outcome: 'skipped',
        kind: 'shell',
        name: 'sh',
        arguments: null,
        attempts: 0,
        exit_code: null,
        reason: 'it runs if step "keep" is failed, which is passed',
      },
      {
        ...step,
        step_id: 'count',
        outcome: 'passed',
        kind: 'shell',
        name: 'sh',
        arguments: { command: 'wc -l < out/files.txt' },
        exit_code: 0,
      },
      {
        event_type: 'plan_end',
        plan_id: 'count',
        outcome: 'passed',
        passed: 3,
        failed: 0,
        skipped: 1,
        canceled: 0,
        file: 'plans/1-count.json',
        duration_ms: 'number',
      },
    ]);
    const file = join(dirname(tracePath(capsule.workspace, capsule.line.session_id)), 'plans', '1-count.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ outcome: 'passed', steps, plan: planOfGuide() });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const types = capsule.trace.map((line) => line['event_type']);
    expect(types.indexOf('tool_call')).toBe(types.indexOf('plan_end') + 1);
    expect(types.filter((type) => type === 'tool_call' || type === 'shell')).toEqual(['shell', 'tool_call']);
  });
});

describe('a capsule with plans', () => {
  it('runs two plans of one turn one after the other, and each keeps its own file', async () => {
    const plan = (word: string): object => ({ id: 'p', steps: [{ id: 'a', shell: 'sh', input: `echo ${word}` }] });
    const capsule = await capsules.script({ manifest: planner, script: submits(plan('one'), plan('two')) });
    const { frames } = await (await capsule.submit('Say.')).untilClosed();
    const record = (number: number): string => `plans/${number}-p.json, beside the trace, out of reach of tools`;
    expect(artifacts(frames).map(answerOf)).toMatchObject([
      { steps: [{ output: 'command: echo one\nexit code: 0\nstdout:\none\nstderr: (empty)' }], record: record(1) },
      { steps: [{ output: 'command: echo two\nexit code: 0\nstdout:\ntwo\nstderr: (empty)' }], record: record(2) },
    ]);
    expect(planLines(capsule).map((line) => Object.values(line)[0])).toEqual([
      'plan_start',
      'plan_step',
      'plan_end',
      'plan_start',
      'plan_step',
      'plan_end',
    ]);
  });

  it('refuses a plan that cannot be run in unfenced words, and nothing of it has run', async () => {
    const plan = {
      id: 'p',
      steps: [
        { id: 'a', shell: 'sh', input: 'touch ran', depends_on: ['b'] },
        { id: 'b', shell: 'sh', input: 'touch ran', depends_on: ['a'] },
      ],
    };
    const many = {
      id: 'p',
      steps: Array.from({ length: 257 }, (_, n) => ({ id: `s${n}`, shell: 'sh', input: 'touch ran' })),
    };
    const capsule = await capsules.script({ manifest: planner, script: submits(plan, many) });
    const { frames } = await (await capsule.submit('Plan.')).untilClosed();
    const refused = { fence_source: null, is_error: true };
    expect(artifacts(frames)).toMatchObject([
      {
        ...refused,
        content: 'the plan is not run, nothing of it has started:\nthe steps wait for each other: "a" → "b" → "a"',
      },
      {
        ...refused,
        content:
          'the arguments of submit-plan do not fit its input schema:\narguments.steps: must NOT have more than 256 items',
      },
    ]);
    expect(planLines(capsule)).toEqual([]);
    expect(() => statSync(join(capsule.line.workdir, 'ran'))).toThrow('ENOENT');
  });

  it('asks the questions of steps that run together one at a time', async () => {
    const ask = (id: string): object => ({ id, tool: 'svc-tool-request-input', input: { prompt: `${id}?` } });
    const capsule = await capsules.script({
      manifest: planner,
      script: submits({ id: 'p', steps: [ask('one'), ask('two')] }),
    });
    const stream = await capsule.submit('Ask.');
    for (const word of ['one', 'two']) {
      await stream.status('input-required', `${word}?`);
      await capsule.send(`${word}!`);
    }
    const { frames, lines } = await stream.untilClosed();
    expect(lines.filter((line) => !line.includes('artifact'))).toEqual([
      `0 ${working(1)}`,
      `9223372036854775807 ${waiting('"one?"')}`,
      `9223372036854775808 ${resumed()}`,
      `9223372036854775807 ${waiting('"two?"')}`,
      `9223372036854775808 ${resumed()}`,
      `2 ${working(2)}`,
      `3 ${reply('Done.')}`,
      `4 ${completed()}`,
    ]);
    expect(answerOf(artifacts(frames)[0])).toMatchObject({
      steps: [
        { id: 'one', status: 'passed', output: 'one!' },
        { id: 'two', status: 'passed', output: 'two!' },
      ],
    });
  });

  it.each([
    [{}, 'SVC_REFEREE_URL is not set: a capsule step asks the referee at that address'],
    [{ SVC_REFEREE_URL: ' ' }, 'SVC_REFEREE_URL is not set: a capsule step asks the referee at that address'],
    [{ SVC_REFEREE_URL: 'http://127.0.0.1:7700' }, 'capabilities.spawn.allow does not list helper'],
  ])('takes a capsule step and lets it fail with %j [D2-CODE-02]', async (env, reason) => {
    const steps = [
      { id: 'before', shell: 'sh', input: 'echo ran' },
      { id: 'ask', capsule: 'helper', version: '1.0.0', input: 'Help.', depends_on: ['before'] },
    ];
    const capsule = await capsules.script({ manifest: planner, script: submits({ id: 'p', steps }) }, env);
    const { frames } = await (await capsule.submit('Delegate.')).untilClosed();
    expect(answerOf(artifacts(frames)[0])).toMatchObject({
      outcome: 'failed',
      steps: [{ status: 'passed' }, { id: 'ask', status: 'failed', reason }],
    });
  });

  it('has the tool only when it is granted', async () => {
    const capsule = await capsules.script({
      manifest: `capabilities: { shell: { allow: [sh] } }\n${staysUp}`,
      script: submits({ id: 'p', steps: [{ id: 'a', shell: 'sh', input: 'true' }] }),
    });
    const { frames } = await (await capsule.submit('Plan.')).untilClosed();
    expect(capsule.trace[0]?.['tools_declared']).toEqual(['sh']);
    expect(artifacts(frames)[0]?.['content']).toBe('there is no tool named "submit-plan"; the tools are sh');
  });
});
