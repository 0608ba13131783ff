import { describe, expect, it } from 'vitest';

import type { FrameStream } from '../support/frame-stream.ts';
import { Gate } from '../support/gate.ts';
import { asks, runs, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

/** The states of the status frames of a stream, in their order. */
async function statesOf(stream: FrameStream): Promise<string[]> {
  const { frames } = await stream.untilClosed();
  return frames
    .filter(({ event }) => event === 'status')
    .map(({ data }) => (data as { readonly status: { readonly state: string } }).status.state);
}

describe('the status frames of a running capsule', () => {
  it('name a task that works, waits for input, completes and is canceled [D1-FRAME-09]', async () => {
    const capsule = await capsules.script({
      manifest: `artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n${staysUp}`,
      script: script(asks('Which colour?'), says('Done.')),
    });
    const answered = await capsule.submit('Paint the door.');
    await answered.until(({ text }) => text.includes('Which colour?'));
    await capsule.send('blue');
    expect(await statesOf(answered)).toEqual(['working', 'input-required', 'working', 'working', 'completed']);
    const left = await capsule.submit('Paint the wall.');
    const { data } = await left.until(({ text }) => text.includes('Which colour?'));
    await capsule.rpc('tasks/cancel', { id: data['id'] });
    expect(await statesOf(left)).toEqual(['working', 'input-required', 'canceled']);
  });

  it('name a task that fails, and one that is rejected [D1-FRAME-09]', async () => {
    const capsule = await capsules.script({
      manifest: 'lifecycle: { task_acceptance: single }\ncapabilities: { shell: { allow: [sh] } }\n',
      script: script(runs(Gate.command), { content: [], stop_reason: 'error' }),
    });
    const gate = new Gate(capsule.line.workdir);
    const running = await capsule.submit('Fail.');
    await gate.reached();
    expect(await statesOf(await capsule.submit('And another.'))).toEqual(['rejected']);
    await gate.open('go');
    expect(await statesOf(running)).toEqual(['working', 'working', 'failed']);
  });
});
