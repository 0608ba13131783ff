import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { scriptCapsule } from '../support/script-capsule.ts';
import { message, rpc, startCapsule, type RunLine } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? 12);

/** A long text makes a torn write likely to be caught. */
const asked = `${'x'.repeat(128 * 1024)} end`;

describe(`a threaded conversation whose session is killed while it is saved, ${rounds} rounds`, () => {
  let workspace: Workspace;

  beforeAll(() => {
    workspace = scriptCapsule({
      manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep, conversation: threaded }\n',
    });
  });

  afterAll(() => workspace.remove());

  it(
    'equals the one before or the one after, whole, and the next session goes on from it',
    async () => {
      const startArgs = ['--workdir', join(workspace.folder, 'work')];
      const first = await startCapsule(workspace, startArgs);
      const startedMs = performance.now();
      await completed(first.line, await send(first.line));
      const wholeMs = performance.now() - startedMs;
      let running = first;
      let saved = keptMessages(workspace);
      expect(saved).toBe(2);
      for (let round = 0; round < rounds; round += 1) {
        // The moments are spread over the whole task and a little beyond.
        await send(running.line);
        await delay((wholeMs * 1.2 * (round + 0.5)) / rounds);
        running.process.child.kill('SIGKILL');
        await running.process.ended;
        const now = keptMessages(workspace);
        expect([saved, saved + 2]).toContain(now);
        saved = now;
        running = await startCapsule(workspace, startArgs);
        expect(leftOvers(workspace)).toEqual([`${running.line.session_id}.holder`]);
      }
      await completed(running.line, await send(running.line));
      expect(keptMessages(workspace)).toBe(saved + 2);
      running.process.child.kill('SIGTERM');
      expect((await running.process.ended).code).toBe(0);
    },
    60_000 + rounds * 30_000,
  );
});

async function send({ url }: RunLine): Promise<string> {
  return ((await rpc(url, 'message/send', message(asked, 'thread-1')))['result'] as { id: string }).id;
}

async function completed({ url }: RunLine, id: string): Promise<void> {
  for (;;) {
    const { status } = (await rpc(url, 'tasks/get', { id }))['result'] as { status: { state: string } };
    if (status.state === 'completed') return;
    if (!['submitted', 'working'].includes(status.state)) throw new Error(`the task is ${status.state}`);
  }
}

function places(workspace: Workspace): string[] {
  const root = join(workspace.folder, '.svc/conversations');
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name));
}

/** How many messages the one file holds; each has to be whole. */
function keptMessages(workspace: Workspace): number {
  const [file, ...others] = places(workspace).filter((path) => path.endsWith('.json'));
  expect(others).toEqual([]);
  const kept = JSON.parse(readFileSync(file ?? '', 'utf8')) as { messages: { content: { text: string }[] }[] };
  for (const [index, { content }] of kept.messages.entries()) {
    expect(content[0]?.text === (index % 2 === 0 ? asked : 'Done.'), `message ${index}`).toBe(true);
  }
  return kept.messages.length;
}

/** What is there beside the conversation, once a session has begun. */
function leftOvers(workspace: Workspace): string[] {
  return places(workspace)
    .map((path) => path.split('/').at(-1) ?? '')
    .filter((name) => name.startsWith('.svc-tmp-') || name.endsWith('.holder'));
}
