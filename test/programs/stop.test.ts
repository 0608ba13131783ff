import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { FrameStream } from '../support/frame-stream.ts';
import { message, rpc, startCapsule, svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const useCapsule = useCapsules();
const manifest = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';

/** Works for longer than any test waits when its task says so, and is else done at once. */
const hangs = `- { when: Hang, delay_ms: 600000, content: [{ type: text, text: Late. }], stop_reason: end_turn }
- { when: Go, content: [{ type: text, text: Done. }], stop_reason: end_turn }
`;

describe('svc stop of a capsule that stays up', () => {
  async function workingOn(text: string): Promise<{ workspace: Workspace; capsule: SvcProcess; url: string }> {
    const workspace = useCapsule({ manifest, script: hangs });
    const capsule = new SvcProcess(workspace, ['run']);
    const [, url = ''] = await capsule.printed(/^svc: url (\S+)\n/);
    await rpc(url, 'message/send', message(text));
    return { workspace, capsule, url };
  }

  it('fails it when that canceled its task', async () => {
    const { workspace, capsule } = await workingOn('Hang.');
    const { stderr } = await svc(workspace, ['stop']);
    expect(stderr).toContain(': 1 task canceled\n');
    const { code, stdout } = await capsule.ended;
    expect(stdout).toMatch(/\nstatus: {2}failed\n$/);
    expect(code).toBe(1);
    const session = onlySession(workspace);
    expect(readTrace(tracePath(workspace, session)).at(-1)).toMatchObject({ status: 'failed' });
  });

  it('ends it well when it met no task, though an earlier one was canceled by its client', async () => {
    const { workspace, capsule, url } = await workingOn('Hang.');
    const { result } = (await rpc(url, 'session/stop')) as { result: { canceled: string[] } };
    expect(result.canceled).toHaveLength(1);
    const frames = await FrameStream.open(url, 'message/stream', message('Go.'));
    await frames.until(({ data }) => data['final'] === true);
    frames.close();
    const { stderr } = await svc(workspace, ['stop']);
    expect(stderr).toContain(': 0 tasks canceled\n');
    expect((await capsule.ended).code).toBe(0);
  });
});

describe('svc stop', () => {
  it('ends the process of a capsule that does not answer, and says why', async () => {
    const workspace = useCapsule({ manifest });
    const { process, line } = await startCapsule(workspace);
    process.child.kill('SIGSTOP');
    const stop = new SvcProcess(workspace, ['stop']);
    await stop.complained(/no answer within 5 s; its process \d+ is sent SIGTERM\n/);
    process.child.kill('SIGCONT');
    expect((await process.ended).code).toBe(0);
    const { code, stderr } = await stop.ended;
    expect(stderr).toContain(`stopped ${line.session_id}\n`);
    expect(code).toBe(0);
  });

  it('ends the process of a capsule that refuses its token', async () => {
    const workspace = useCapsule({ manifest });
    const { process, line } = await startCapsule(workspace, [], { env: { SVC_LISTENER_TOKEN: 'a-token-of-its-own' } });
    const { code, stderr } = await svc(workspace, ['stop', line.session_id]);
    expect(stderr).toContain('answered 401');
    expect(code).toBe(0);
    expect((await process.ended).code).toBe(0);
  });

  it('signals nobody when another session answers at the address it was given', async () => {
    const workspace = useCapsule({ manifest });
    const { process: running, line } = await startCapsule(workspace);
    const other = createServer((request, response) => {
      request.resume();
      response.end('{"jsonrpc":"2.0","id":1,"result":{"session_id":"ses_other","canceled":[],"residue":[]}}');
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const directory = join(workspace.home, '.svc', 'running');
    mkdirSync(directory, { recursive: true });
    const file = join(directory, `${line.session_id}.json`);
    const record = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...record, address }));
    const { code, stderr } = await svc(workspace, ['stop', address]);
    other.close();
    expect(stderr).toContain(`error[E-IO-004]: something else answers at ${address}, where ${line.session_id} is to`);
    expect(code).toBe(1);
    expect(running.child.exitCode).toBe(null);
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });
});
