import { afterEach, describe, expect, it } from 'vitest';

import { postBytes, RawSocket } from '../support/raw-socket.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { startCapsule } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const workspaces: Workspace[] = [];

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
});
