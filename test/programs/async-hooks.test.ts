import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { compileTimeoutMs } from '../../packages/components/test/support/hosted-tool.ts';
import { completed } from '../support/frame-lines.ts';
import { Gate } from '../support/gate.ts';
import { hookCapsule, type HookCapsule } from '../support/hook-capsule.ts';
import { eventTypes, hookErrors } from '../support/hook-trace.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

async function start(options: HookCapsule): Promise<StreamedCapsule> {
  return await capsules.from(await hookCapsule({ manifest: staysUp, ...options }));
}

function heardBy(name: string, { workspace, line }: StreamedCapsule): readonly string[] {
  const log = join(workspace.folder, '.svc', 'sessions', line.session_id, 'logs', `hook-${name}.log`);
  return readFileSync(log, 'utf8').trimEnd().split('\n');
}

describe('an async hook', { timeout: compileTimeoutMs }, () => {
  it('gets every event in order in one instance, and finishes before the session', async () => {
    const capsule = await start({
      hooks: { watch: 'execution_mode: async' },
      capabilities: '  shell: { allow: [sh] }\n',
      script: script(runs('true'), says('Done.')),
    });
    for (const text of ['One.', 'Two.']) await (await capsule.submit(text)).untilClosed();
    expect(await capsule.terminate()).toMatchObject({ code: 0 });
    const task = ['on-task-start', 'on-inference', 'on-tool-call', 'on-shell', 'on-inference', 'on-task-end'];
    const events = ['on-stage', 'on-session-start', ...task, ...task, 'on-session-end'];
    expect(heardBy('watch', capsule)).toEqual(events.map((event, index) => `${index + 1} ${event}`));
    expect(hookErrors(capsule.trace)).toEqual([]);
    expect(eventTypes(capsule.trace).at(-1)).toBe('session_end');
  });

  it('gets the event of a task that a signal cancels before the session ends', async () => {
    const capsule = await start({
      hooks: { watch: 'binding: [on-task-end, on-session-end]\nexecution_mode: async' },
      capabilities: '  shell: { allow: [sh] }\n',
      script: script(runs(Gate.command), says('Done.')),
    });
    const gate = new Gate(capsule.line.workdir);
    await capsule.send('Go.');
    await gate.reached();
    expect(await capsule.terminate()).toMatchObject({ code: 1 });
    expect(heardBy('watch', capsule)).toEqual(['1 on-task-end', '2 on-session-end']);
    expect(eventTypes(capsule.trace).at(-1)).toBe('session_end');
  });

  it('holds up no task and changes nothing, whatever it answers', async () => {
    const capsule = await start({
      hooks: { watch: 'binding: [on-tool-call, on-task-end]\nexecution_mode: async' },
      orders: '[[on-tool-call deny No.]] [[on-task-end reopen Again.]]',
      capabilities: '  shell: { allow: [sh] }\n',
      script: script(runs('true'), says('Done.')),
    });
    const { frames, lines } = await (await capsule.submit('Go.')).untilClosed();
    expect(frames.filter(({ event }) => event === 'artifact')).toHaveLength(1);
    expect(lines.at(-1)).toBe(`4 ${completed()}`);
    expect(await capsule.terminate()).toMatchObject({ code: 0 });
    expect(hookErrors(capsule.trace)).toEqual([
      'watch on-tool-call: it answered deny, and an async hook commits nothing',
      'watch on-task-end: it answered reopen-task, and an async hook commits nothing',
    ]);
  });

  it('holds up neither tasks nor, for long, the end after a signal when it hangs', async () => {
    const capsule = await start({
      hooks: { slow: 'binding: [on-task-start, on-task-end]\nexecution_mode: async' },
      orders: '[[on-task-start wait]]',
      deadlineSecs: 300,
    });
    for (const text of ['One.', 'Two.']) {
      expect((await (await capsule.submit(text)).untilClosed()).lines.at(-1)).toBe(`2 ${completed()}`);
    }
    expect(await capsule.terminate()).toMatchObject({ code: 0 });
    expect(hookErrors(capsule.trace)).toEqual([
      'slow on-task-end: 3 events were not delivered: the session had to end',
      'slow on-task-start: it did not answer before the session had to end',
    ]);
    expect(eventTypes(capsule.trace).at(-1)).toBe('session_end');
  });

  it('gets the next event in a fresh instance when it breaks off', async () => {
    const capsule = await start({
      hooks: { watch: 'binding: [on-task-start, on-task-end]\nexecution_mode: async' },
      orders: '[[on-task-start trap]]',
    });
    await (await capsule.submit('One.')).untilClosed();
    expect(await capsule.terminate()).toMatchObject({ code: 2 });
    expect(heardBy('watch', capsule)).toEqual(['1 on-task-start', '1 on-task-end']);
  });
});
