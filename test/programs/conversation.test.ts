import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, tracePath } from '../support/capsule-folders.ts';
import { postBytes, RawSocket } from '../support/raw-socket.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { startCapsule, svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const workspaces: Workspace[] = [];

/** A model whose answer is nearly as long as a line may be. */
const longWinded = `process.stdin.once('data', () => {
  const content = [{ type: 'text', text: 'y'.repeat(15.5 * 1024 * 1024) }];
  process.stdout.write(JSON.stringify({ type: 'response', response: { content, stop_reason: 'end_turn' } }) + '\\n');
});
`;

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

describe('lifecycle.conversation', () => {
  it.each([
    ['', 'stateless'],
    [', conversation: threaded', 'threaded'],
  ])('with %j is reported in the connection-ack frame as %s [D1-MAN-14]', async (key, mode) => {
    const workspace = scriptCapsule({ manifest: `lifecycle: { task_acceptance: queue, after_task: sleep${key} }\n` });
    workspaces.push(workspace);
    const { process, line } = await startCapsule(workspace);
    const socket = await RawSocket.open(Number(line.url.split(':')[1]));
    socket.send(postBytes('{"jsonrpc":"2.0","id":1,"method":"stream/watch","params":{}}'));
    expect(await socket.until('\n\n')).toContain(
      `event: connection-ack\ndata: {"role":"observer","conversation_mode":"${mode}"}\n\n`,
    );
    process.child.kill('SIGTERM');
    expect((await process.ended).code).toBe(0);
    expect(await socket.untilClosed()).toMatch(/event: capsule-closed\ndata: \{\}\n\n$/);
  });

  it('fails a task whose conversation is too long to be kept, by the code that the manual names', async () => {
    const workspace = makeWorkspace({ 'model.mjs': longWinded });
    workspaces.push(workspace);
    workspace.write(
      'svc.yaml',
      `name: demo
version: 1.0.0
inference: { transport: process, model: long-winded, command: ["${process.execPath}", "${workspace.folder}/model.mjs"] }
lifecycle: { conversation: threaded }
`,
    );
    workspace.write('task.md', 'x'.repeat(1024 * 1024));
    expect((await svc(workspace, ['run'])).code).toBe(1);
    const end = readTrace(tracePath(workspace, onlySession(workspace))).find(
      (line) => line['event_type'] === 'task_end',
    );
    expect(end?.['state']).toBe('failed');
    expect(end?.['error']).toMatch(
      /^E-RUN-032: the conversation is too long to be kept: \d{8} bytes, at most 16777216$/,
    );
    const result = readFileSync(join(workspace.folder, 'workdir', onlySession(workspace), 'out', 'result.txt'), 'utf8');
    expect(result).toBe(`error: ${String(end?.['error'])}`);
  });
});
