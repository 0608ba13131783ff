import { describe, expect, it } from 'vitest';

import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { canceled, completed, reply, waiting, working } from '../support/frame-lines.ts';
import { Gate } from '../support/gate.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { asks, calls, runs, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { addComponentTool } from '../support/component-tool.ts';

const capsules = useStreamedCapsules();

const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
const impatient = 'lifecycle: { task_acceptance: queue, after_task: sleep, input_timeout_secs: 1 }\n';

const timedOut =
  'status {"id":"task-1","context_id":"ctx-1","status":{"state":"failed","message":"input-timeout"},"final":false}';
const unanswered =
  'artifact {"id":"task-1","artifact":{"tool_name":"svc-tool-request-input","content":"<untrusted-content source=tool:svc-tool-request-input>\\ninput-timeout\\n</untrusted-content>","fence_source":"tool:svc-tool-request-input","tool_call_id":"ask_1","is_error":true,"duration_ms":<ms>,"exit_code":null,"truncated":false}}';

describe('an input wait that times out', () => {
  it('fails the asking tool and not the task, and closes no stream [D1-STATE-06, D1-STATE-07, D1-STATE-08, D1-STATE-21, D1-FRAME-08, D1-FRAME-13, D1-FRAME-26, D1-ID-03, D1-STREAM-03]', async () => {
    const capsule = await capsules.script({
      manifest: asker + impatient,
      script: script(asks('Which colour?'), says('Then I choose.')),
    });
    const watch = await capsule.watch();
    const stream = await capsule.submit('Paint the door.');
    const frames = [
      `0 ${working(1)}`,
      `9223372036854775807 ${waiting('"Which colour?"')}`,
      `9223372036854775808 ${timedOut}`,
      `1 ${unanswered}`,
      `2 ${working(2)}`,
      `3 ${reply('Then I choose.')}`,
      `4 ${completed()}`,
    ];
    expect((await stream.untilClosed()).lines).toEqual(frames);
    await watch.status('completed', 'session ended');
    expect(watch.lines.slice(1)).toEqual(frames);
    expect(await capsule.task(String(stream.frames[0]?.data['id']))).toMatchObject({
      status: { state: 'completed', message: 'session ended' },
    });
    expect((await capsule.terminate()).code).toBe(0);
  });

  it('may be followed by a failure of the task itself, which is final [D1-STATE-08, D1-STATE-21]', async () => {
    const capsule = await capsules.script({ manifest: asker + impatient, script: script(asks('Which colour?')) });
    const stream = await capsule.submit('Paint the door.');
    expect((await stream.untilClosed()).lines.slice(2)).toEqual([
      `9223372036854775808 ${timedOut}`,
      `1 ${unanswered}`,
      `2 ${working(2)}`,
      '3 status {"id":"task-1","status":{"state":"failed","message":"session ended","response":"error: script script.yaml is past its end: it has 1 response, and this is turn 2"},"final":true}',
    ]);
  });

  it('ends: a message that comes later answers nothing', async () => {
    const capsule = await capsules.script({
      manifest: `${asker}capabilities: { shell: { allow: [sh] } }\nlifecycle: { task_acceptance: queue, queue_depth: 0, input_timeout_secs: 1 }\n`,
      script: script(asks('Which colour?'), runs(Gate.command), says('Done.')),
    });
    const gate = new Gate(capsule.line.workdir);
    const stream = await capsule.submit('Paint the door.');
    await gate.reached();
    const { data } = await stream.status('failed', 'input-timeout');
    expect((await capsule.task(String(data['id']))).status).toEqual({ state: 'working' });
    expect((await capsule.send('blue')).status.state).toBe('rejected');
    await gate.open('go');
    expect((await stream.untilClosed()).lines.at(-1)).toBe(`6 ${completed()}`);
  });

  it('fails a tool that says it passed all the same [D1-STATE-07]', async () => {
    const workspace = scriptCapsule({
      manifest: `artifacts: [{ name: probe, version: 1.0.0, source: ./probe }]\n${impatient}`,
      script: script(calls([['ask_1', 'probe', { op: 'ask', prompt: 'Which colour?' }]]), says('Done.')),
    });
    addComponentTool(workspace, 'probe', await fixtureComponent('probe-tool'));
    const capsule = await capsules.from(workspace);
    const stream = await capsule.submit('Paint the door.');
    expect((await stream.untilClosed()).lines.slice(2, 4)).toEqual([
      `9223372036854775808 ${timedOut}`,
      '1 artifact {"id":"task-1","artifact":{"tool_name":"probe","content":"<untrusted-content source=tool:probe>\\nrefused: input-timeout\\n</untrusted-content>","fence_source":"tool:probe","tool_call_id":"ask_1","is_error":true,"duration_ms":<ms>,"exit_code":null,"truncated":false}}',
    ]);
  });
});

describe('a task that waits for input', () => {
  it('ends at tasks/cancel [D1-STATE-14, D1-STATE-21, D1-FRAME-08, D1-ID-01]', async () => {
    const capsule = await capsules.script({
      manifest: asker + staysUp,
      script: script(asks('Which colour?'), says('Done.')),
    });
    const watch = await capsule.watch();
    const stream = await capsule.submit('Paint the door.', 'of-the-asker');
    const { data } = await stream.status('input-required', 'Which colour?');
    const id = String(data['id']);
    const ended = { id, contextId: 'of-the-asker', status: { state: 'canceled', message: 'task canceled' } };
    expect(await capsule.rpc('tasks/cancel', { id })).toEqual(ended);
    const frames = [
      `0 ${working(1)}`,
      `9223372036854775807 ${waiting('"Which colour?"', 'of-the-asker')}`,
      `1 ${canceled()}`,
    ];
    expect((await stream.untilClosed()).lines).toEqual(frames);
    expect(await capsule.task(id)).toEqual(ended);
    // What would have been the answer is a task of its own now.
    const next = await capsule.send('blue');
    expect(next.id).not.toBe(id);
    await watch.until(({ data: { id: other } }) => other === next.id);
    expect(watch.lines.slice(1, 5)).toEqual([...frames, `0 ${working(1, 'task-2')}`]);
    expect(capsule.trace.find((line) => line['event_type'] === 'task_input_required')).toMatchObject({
      prompt: 'Which colour?',
      outcome: 'canceled',
    });
  });

  it('ends at SIGTERM, before the streams end in order [D1-STATE-14, D1-FRAME-46]', async () => {
    const capsule = await capsules.script({
      manifest: asker + staysUp,
      script: script(asks('Which colour?'), says('Done.')),
    });
    const watch = await capsule.watch();
    const stream = await capsule.submit('Paint the door.');
    await stream.status('input-required', 'Which colour?');
    await watch.status('input-required', 'Which colour?');
    expect((await capsule.terminate()).code).toBe(1);
    const frames = [`0 ${working(1)}`, `9223372036854775807 ${waiting('"Which colour?"')}`, `1 ${canceled()}`];
    expect((await stream.untilClosed()).lines).toEqual(frames);
    expect((await watch.untilClosed()).lines.slice(1)).toEqual([...frames, '- capsule-closed {}']);
  });
});
