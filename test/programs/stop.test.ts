import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { FrameStream } from '../support/frame-stream.ts';
import { changeRecord } from '../support/running-record.ts';
import { message, rpc, startCapsule, svc, SvcProcess } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
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
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    changeRecord(workspace.home, line.session_id, { address: `127.0.0.1:${(silent.address() as AddressInfo).port}` });
    const { code, stderr } = await svc(workspace, ['stop']);
    silent.close();
    expect(stderr).toMatch(/no answer within 5 s; its process \d+ is sent SIGTERM\n/);
    expect(stderr).toContain(`stopped ${line.session_id}\n`);
    expect(code).toBe(0);
    expect((await process.ended).code).toBe(0);
  });

  it('continues and ends one that is suspended, which other commands show at once', async () => {
    const workspace = useCapsule({ manifest });
    const { process, line } = await startCapsule(workspace);
    const { pid } = process.child;
    process.child.kill('SIGSTOP');
    const why = `its process ${pid} is suspended`;
    for (const asked of [
      ['send', line.session_id, 'Go.'],
      ['tasks', line.session_id],
      ['cancel', line.session_id],
      ['watch', line.session_id],
    ]) {
      const { code, stderr } = await svc(workspace, asked);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(
          new RegExp(
            `^error\\[E-IO-003\\]: the capsule at \\S+ cannot answer: ${why}\\nhint: fg in its terminal, or kill -CONT ${pid}, lets it go on\\n`,
          ),
        ) as string,
      });
    }
    const { code, stderr } = await svc(workspace, ['stop']);
    expect(stderr).toContain(`${why}; its process ${pid} is sent SIGTERM\nstopped ${line.session_id}\n`);
    expect(code).toBe(0);
    expect((await process.ended).code).toBe(0);
  });

  it.skipIf(!hasPseudoTerminals())('ends one that Ctrl+Z suspended (skipped without python3)', async () => {
    const workspace = useCapsule({ manifest });
    const job = 'set -m; "$0" "$1" run; echo "suspended: $?"; read -r line';
    const running = new TerminalProcess(workspace, [], { command: ['bash', '-c', job, process.execPath, program] });
    onTestFinished(() => void running.child.kill('SIGKILL'));
    await running.shows(/^waiting for a message at /);
    running.type('\u001A');
    await running.shows(/^suspended: 148$/);
    const { code, stderr } = await svc(workspace, ['stop']);
    expect(stderr).toMatch(/ is suspended; its process \d+ is sent SIGTERM\nstopped ses_/);
    expect(code).toBe(0);
    running.type('\r');
    await running.ended;
    expect(readTrace(tracePath(workspace, onlySession(workspace))).at(-1)).toMatchObject({ status: 'ok' });
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
    changeRecord(workspace.home, line.session_id, { address });
    const { code, stderr } = await svc(workspace, ['stop', address]);
    other.close();
    expect(stderr).toContain(`error[E-IO-004]: ${address} is used by another program, not by ${line.session_id};`);
    expect(code).toBe(1);
    expect(running.child.exitCode).toBe(null);
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });
});
