import { describe, expect, it } from 'vitest';

import { taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { readTrace } from '../support/read-trace.ts';
import { message, startCapsule, SvcProcess } from '../support/svc-process.ts';

const capsule = useCapsules();
const queue = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';

/** Submits a task and waits for its end. */
async function runTask(url: string): Promise<void> {
  const response = await fetch(`http://${url}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: message('Once more.') }),
  });
  expect(await response.text()).toContain('"final":true');
}

interface JsonFrame {
  readonly id?: string;
  readonly event: string;
  readonly data: { readonly id?: string };
}

/** Frames that carry an id, in the order printed. */
function numberedFrames(stdout: string): JsonFrame[] {
  const frames = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonFrame);
  return frames.filter(({ id }) => id !== undefined);
}

function labels(frames: readonly JsonFrame[]): string[] {
  return frames.map(({ id, event }) => `${event} ${id}`);
}

describe('svc watch that is run again', () => {
  it('has what was missed; task, event and id together join both [D1-MISS-03, D1-REPLAY-13]', async () => {
    const workspace = capsule({ manifest: queue, files: taskFile });
    const { process, line } = await startCapsule(workspace);
    // Its frames come by replay alone.
    const isOver = () =>
      readTrace(tracePath(workspace, line.session_id)).some(({ event_type: type }) => type === 'task_end');
    await expect.poll(isOver, { timeout: 20_000 }).toBe(true);
    const first = new SvcProcess(workspace, ['watch', '--json']);
    await first.printed(/session ended/);
    await runTask(line.url);
    await first.printed(/session ended[^]*session ended/);
    first.child.kill('SIGINT');
    expect(await first.ended).toMatchObject({ code: null, signal: 'SIGINT' });
    await runTask(line.url);
    const second = new SvcProcess(workspace, ['watch', '--json']);
    await second.printed(/connection-ack/);
    process.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);

    const [seen, again] = [numberedFrames(first.stdout), numberedFrames(second.stdout)];
    // The first task's frame 0 is in no replay from 0, the second's was seen live.
    expect(labels(seen)).toEqual(['text 1', 'status 2', 'status 0', 'text 1', 'status 2']);
    expect(labels(again)).toEqual(['text 1', 'status 2', 'text 1', 'status 2', 'text 1', 'status 2']);
    const joined = new Map([...seen, ...again].map((frame) => [`${frame.data.id} ${frame.event} ${frame.id}`, frame]));
    expect(labels([...joined.values()])).toEqual([...labels(seen), 'text 1', 'status 2']);
    expect(new Set([...joined.values()].map(({ data }) => data.id)).size).toBe(3);
    await process.ended;
  });

  it('gives its reader the last id when the capsule is killed [D1-WATCH-08, D1-WATCH-09]', async () => {
    const workspace = capsule({ manifest: queue, files: taskFile });
    const { process, line } = await startCapsule(workspace);
    const watch = new SvcProcess(workspace, ['watch', line.session_id]);
    await watch.printed(/session ended/);
    process.child.kill('SIGKILL');
    expect(await watch.ended).toMatchObject({
      code: 1,
      stdout: '| Done.\n[completed] session ended\n',
      stderr: `error[E-IO-003]: the connection to ${line.url.replace('localhost', '127.0.0.1')} was lost; the last event id seen was 2\nhint: run the command again to reattach\n`,
    });
  });
});
