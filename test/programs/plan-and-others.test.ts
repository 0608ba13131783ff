import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { Gate } from '../support/gate.ts';
import { hookCapsule } from '../support/hook-capsule.ts';
import { answerOf, artifacts, planLines, submits } from '../support/plan-answers.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

describe('a step that a hook refuses', () => {
  it('fails with the reason of the hook, has not run, and the rest of its plan goes on', async () => {
    const steps = [
      { id: 'no', shell: 'sh', input: 'touch ran # [[on-shell deny not today]]', on_error: 'skip', retries: 3 },
      { id: 'never', shell: 'sh', input: 'touch ran', depends_on: ['no'] },
      { id: 'yes', shell: 'sh', input: 'echo fine' },
    ];
    const workspace = await hookCapsule({
      hooks: { guard: 'binding: on-shell\ncommit_policy: deny' },
      capabilities: '  shell: { allow: [sh] }\n  plan: { submit: true }\n',
      manifest: staysUp,
      script: submits({ id: 'p', steps }),
    });
    const capsule = await capsules.from(workspace);
    const { frames } = await (await capsule.submit('Try.')).untilClosed();
    expect(answerOf(artifacts(frames)[0])).toMatchObject({
      outcome: 'passed',
      steps: [
        { id: 'no', status: 'failed', reason: expect.stringContaining('not today') },
        { id: 'never', status: 'skipped' },
        { id: 'yes', status: 'passed', output: 'command: echo fine\nexit code: 0\nstdout:\nfine\nstderr: (empty)' },
      ],
    });
    expect(existsSync(join(capsule.line.workdir, 'ran'))).toBe(false);
    expect(planLines(capsule).find((line) => line['step_id'] === 'no')).toMatchObject({
      outcome: 'failed',
      attempts: 1,
    });
  });
});

describe('a step whose command moves to the background', () => {
  it('has failed, and nothing that waits for it starts', async () => {
    const steps = [
      { id: 'long', shell: 'sh', input: Gate.command },
      { id: 'after', shell: 'sh', input: 'touch ran', depends_on: ['long'] },
    ];
    const capsule = await capsules.script({
      manifest: `capabilities: { shell: { allow: [sh] }, plan: { submit: true } }
lifecycle: { task_acceptance: queue, after_task: sleep, shell_grace_secs: 1 }
`,
      script: submits({ id: 'p', steps }),
    });
    const gate = new Gate(capsule.line.workdir);
    const stream = await capsule.submit('Wait.');
    await gate.reached();
    const { frames } = await stream.untilClosed();
    expect(answerOf(artifacts(frames)[0])).toMatchObject({
      outcome: 'failed',
      steps: [
        {
          id: 'long',
          status: 'failed',
          output: expect.stringContaining('it goes on in the background as wrk_'),
          cut: true,
        },
        { id: 'after', status: 'skipped', reason: 'step "long" failed and ended the plan' },
      ],
    });
    await gate.open('done');
  });
});
