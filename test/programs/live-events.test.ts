import { describe, expect, it } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import type { LiveEvent } from '@svc/protocol/live-events.ts';
import { bodyOf, postBytes, RawSocket } from '../support/raw-socket.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { asks, calls, says, script } from '../support/scripted-turns.ts';
import { useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';

const capsules = useStreamedCapsules();
const patience = { timeout: 60_000 };
const canary = 'canary-of-the-service-0123456789';
const lines = 'canary-line-one-0123\ncanary-line-two-4567';

const manifest = `trace: { capture: content }
lifecycle: { task_acceptance: queue, after_task: sleep }
artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]
capabilities: { env: { allow: [SERVICE_TOKEN, DEPLOY_KEY] }, shell: { allow: [sh] } }
`;
const turns = script(
  calls([['c1', 'sh', { command: `echo ${canary}; exit 3` }]]),
  calls([
    ['c2', 'nothing', { [canary]: [lines, JSON.stringify({ lines })] }],
    ['c3', 'sh', { command: 'true' }],
  ]),
  asks(`Is it ${canary}?`),
  says('Done.'),
);

async function started(): Promise<StreamedCapsule> {
  const env = { SERVICE_TOKEN: canary, DEPLOY_KEY: lines };
  return await capsules.from(scriptCapsule({ manifest, script: turns }), env);
}

/** A `stream/watch` as its bytes come. */
async function watch(capsule: StreamedCapsule, headers: readonly string[] = []): Promise<RawSocket> {
  const socket = await RawSocket.open(Number(capsule.line.url.split(':')[1]));
  socket.send(postBytes(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'stream/watch' }), headers));
  await socket.until('event: connection-ack\n');
  return socket;
}

function framesOf(received: string): string[] {
  // Each connection has heartbeats of its own.
  return bodyOf(received)
    .split(/(?<=\n\n)/)
    .filter((frame) => !frame.startsWith(':'));
}

const specified = /^(id: |event: (connection-ack|gap|capsule-closed)\n)/;

function dataOf(frames: readonly string[], event: string): Record<string, unknown>[] {
  return frames
    .filter((frame) => frame.startsWith(`event: ${event}\n`))
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Record<string, unknown>);
}

/** Runs the one task to its end, its question answered by name. */
async function worked(capsule: StreamedCapsule): Promise<LiveEvent[]> {
  const client = new CapsuleClient({ url: capsule.line.url });
  const seen: LiveEvent[] = [];
  for await (const event of client.watch({ events: true })) {
    if (event.kind !== 'event') continue;
    seen.push(event.event);
    if (event.event.event === 'snapshot') await client.send(`Say ${canary}.`);
    if (event.event.event === 'question') await client.answer(event.event.taskId, event.event.waitId, 'Yes.');
    if (event.event.event === 'task_settled') break;
  }
  return seen;
}

describe('a running capsule that is watched with and without events', () => {
  it(
    'sends the one the frames of the other, byte for byte, and no secret in what is beside them',
    patience,
    async () => {
      const capsule = await started();
      const plain = await watch(capsule);
      const more = await watch(capsule, ['svc-events: 1']);
      const events = await worked(capsule);
      await more.until('event: task_settled\n');
      await plain.until('"state":"completed"');
      await capsule.terminate();
      const [all, frames] = [framesOf(await more.untilClosed()), framesOf(await plain.untilClosed())];
      expect(all.filter((frame) => specified.test(frame)).join('')).toBe(frames.join(''));
      const beside = all.filter((frame) => !specified.test(frame));
      expect(beside.join('')).not.toMatch(/canary/);
      const names = beside.map((frame) => /^event: (.*)$/m.exec(frame)?.[1]);
      expect(names).toEqual(events.map(({ event }) => event));
      expect(names).toHaveLength(23);
      expect(dataOf(all, 'output').map(({ text }) => text)).toEqual(['[secret]\n']);
      expect(dataOf(all, 'call_start').map((call) => [call['tool_name'], call['arguments']])).toEqual([
        ['sh', { command: 'echo [secret]; exit 3' }],
        ['nothing', { '[secret]': ['[secret]', '{"lines":"[secret]"}'] }],
        ['sh', { command: 'true' }],
        ['svc-tool-request-input', { prompt: 'Is it [secret]?' }],
      ]);
    },
  );

  it('numbers calls as svc trace steps does, and its replay meets the answer by name', patience, async () => {
    const capsule = await started();
    const events = await worked(capsule);
    await capsule.terminate();
    const { stdout } = await svc(capsule.workspace, ['trace', 'steps', '--json']);
    const steps = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { step: number | null; port: string; name: string })
      .filter(({ port }) => port !== 'model');
    const ended = events.flatMap((event) => (event.event === 'call_end' ? [event] : []));
    expect(ended.map(({ toolName, step, exitCode }) => [toolName, step, exitCode])).toEqual([
      ['sh', 2, 3],
      ['nothing', null, null],
      ['sh', 4, 0],
      ['svc-tool-request-input', 6, null],
    ]);
    // A task, its end and a call that was refused have rows, and are no steps.
    expect(steps.map(({ name, step }) => [name, step])).toEqual([
      ['message', null],
      ['sh', 2],
      ['nothing', null],
      ['sh', 4],
      ['svc-tool-request-input', 6],
      ['completed', null],
    ]);
    const again = await svc(capsule.workspace, ['run', '--replay', '--json']);
    expect(JSON.parse(again.stdout)).toEqual({ session: capsule.line.session_id, steps: 7, outcome: 'same' });
  });

  it('gives no other question the answer of one that is settled', patience, async () => {
    const capsule = await started();
    const client = new CapsuleClient({ url: capsule.line.url });
    const { id } = await client.send('Go.');
    for (;;) {
      const [task] = (await client.snapshot())?.tasks ?? [];
      if (task?.question !== null && task !== undefined) {
        expect(task).toMatchObject({ taskId: id, question: { waitId: 'q1', prompt: 'Is it [secret]?' } });
        break;
      }
    }
    await expect(client.answer(id, 'q2', 'No.')).rejects.toMatchObject({ code: 'fault', fault: -32_010 });
    const both = await Promise.allSettled([client.answer(id, 'q1', 'Yes.'), client.answer(id, 'q1', 'Yes.')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const card = await client.card();
    expect(card.serves?.methods).toEqual([
      'message/send',
      'message/stream',
      'stream/watch',
      'tasks/get',
      'tasks/cancel',
      'session/stop',
    ]);
    expect(await capsule.rpc('tasks/answer', { id, wait: 'q1', text: 'Yes.' })).toEqual({
      code: -32_601,
      message: 'Method not found',
    });
  });
});
