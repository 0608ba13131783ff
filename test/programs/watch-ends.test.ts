import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { PlayedCapsule, streamHead } from '../support/played-capsule.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function emptyWorkspace(): Workspace {
  const workspace = makeWorkspace({});
  cleanups.push(() => workspace.remove());
  return workspace;
}

async function playedCapsule(): Promise<PlayedCapsule> {
  const capsule = await PlayedCapsule.open();
  cleanups.push(() => capsule.close());
  return capsule;
}

const end = (socket: Socket): unknown => socket.end();
const reset = (socket: Socket): unknown => socket.resetAndDestroy();
const acknowledged = 'event: connection-ack\ndata: {"role":"observer","conversation_mode":"stateless"}\n\n';

function textFrame(id: string): string {
  return `id: ${id}\nevent: text\ndata: {"id":"tsk_1","text":"Hello","final":false}\n\n`;
}

describe('a watch connection that is lost', () => {
  it.each([
    ['closed before any frame', '', 'no event was seen', end],
    ['closed after the acknowledgement', acknowledged, 'no event was seen', end],
    ['closed', acknowledged + textFrame('7'), 'the last event id seen was 7', end],
    ['closed', textFrame('18446744073709551615'), 'the last event id seen was 18446744073709551615', end],
    [
      'closed in a frame',
      `${textFrame('9007199254740993')}id: 9\nevent: capsule-closed\ndata: {}\n`,
      'the last event id seen was 9007199254740993',
      end,
    ],
    ['reset', textFrame('4611686018427387903'), 'the last event id seen was 4611686018427387903', reset],
    ['reset in a frame', `${textFrame('0')}id: 1\nevent: te`, 'the last event id seen was 0', reset],
  ])(
    'because it is %s after %j ends with 1 and is not opened again [D1-WATCH-02, D1-WATCH-08, D1-WATCH-09, D1-FRAME-48]',
    async (_name, sent, seen, cut) => {
      const capsule = await playedCapsule();
      const watch = new SvcProcess(emptyWorkspace(), ['watch', capsule.address]);
      const { socket } = await capsule.connection();
      socket.write(streamHead + sent);
      if (sent.includes('Hello')) await watch.printed(/Hello/);
      cut(socket);
      expect(await watch.ended).toEqual({
        code: 1,
        signal: null,
        stdout: sent.includes('Hello') ? '| Hello\n' : '',
        stderr: `error[E-IO-003]: the connection to ${capsule.address} was lost; ${seen}\nhint: run the command again to reattach\n`,
      });
      expect(capsule.clients).toBe(1);
    },
  );

  it.each(['{"error":"Invalid params: expected "parts""}', '{"error":"Invalid params: expected \\"parts\\""}'])(
    'behind the error %s has shown it [D1-FRAME-52]',
    async (data) => {
      const capsule = await playedCapsule();
      const watch = new SvcProcess(emptyWorkspace(), ['watch', capsule.address]);
      const { socket } = await capsule.connection();
      socket.end(`${streamHead}event: error\ndata: ${data}\n\n`);
      expect(await watch.ended).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `the capsule reported an error: Invalid params: expected "parts"
error[E-IO-003]: the connection to ${capsule.address} was lost; no event was seen
hint: run the command again to reattach
`,
      });
    },
  );
});

describe('a watch that cannot begin', () => {
  it('because a token is asked for says which', async () => {
    const capsule = await playedCapsule();
    const watch = new SvcProcess(emptyWorkspace(), ['watch', capsule.address]);
    const { socket } = await capsule.connection();
    socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n');
    expect(await watch.ended).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `error[E-IO-003]: the capsule at ${capsule.address} answered 401 and no event stream
hint: set SVC_LISTENER_TOKEN to the token of that capsule
`,
    });
  });

  it('because of a JSON-RPC error says it, without control sequences', async () => {
    const capsule = await playedCapsule();
    const watch = new SvcProcess(emptyWorkspace(), ['watch', capsule.address]);
    const { socket } = await capsule.connection();
    const body = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method\\u001b[2J not found"}}';
    socket.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n${body}`);
    expect(await watch.ended).toMatchObject({
      code: 1,
      stderr: `error[E-IO-003]: stream/watch was refused by the capsule at ${capsule.address}: Method\\u{1b}[2J not found
hint: it may be another version of svc, or no capsule at all
`,
    });
  });

  it('because no host has that name says so', async () => {
    const { code, stderr } = await svc(emptyWorkspace(), ['watch', 'no-such-host.invalid:80']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error\[E-IO-003\]: the capsule at no-such-host\.invalid:80 cannot be reached: .+\nhint: svc ps lists the running capsules\n$/,
    );
  });

  it.each([
    [[], 'no capsule is running', 'start one with svc run'],
    [
      ['ffff0000'],
      'no running session is ffff0000',
      'svc ps lists the running ones, svc sessions those that have ended too',
    ],
    [['0f3'], 'no running session is 0f3', 'svc ps lists the running ones, svc sessions those that have ended too'],
  ])('because %j is no session says how one is named', async (args, message, hint) => {
    const { code, stdout, stderr } = await svc(emptyWorkspace(), ['watch', ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `error[E-RUN-026]: ${message}\nhint: ${hint}; a session is named by its id, at least 4 of its last characters, or host:port\n`,
    );
  });

  it.each([['send', 'Hello.'], ['answer', 'blue'], ['watch'], ['stop'], ['cancel']])(
    'because the session has ended, or never started, says so, also of svc %s',
    async (command, ...args) => {
      const workspace = emptyWorkspace();
      const id = 'ses_00000000000070008000000000001234';
      const folder = join(workspace.folder, '.svc', 'sessions', id);
      mkdirSync(folder, { recursive: true });
      expect(await svc(workspace, [command, '1234', ...args])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(`^error\\[E-RUN-026\\]: the session ${id} never started\\n`),
      });
      writeFileSync(join(folder, 'trace.jsonl'), '{"event_type":"session_start"}\n');
      expect(await svc(workspace, [command, '1234', ...args])).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `error[E-RUN-026]: the session ${id} has ended\nhint: svc chat 1234 goes on with it, svc trace show 1234 reads it; svc ps lists the running ones\n`,
      });
    },
  );

  it('because an ending fits two sessions names them', async () => {
    const workspace = emptyWorkspace();
    const ids = ['ses_00000000000070008000000000001234', 'ses_00000000000070008000000000011234'];
    const records = join(workspace.home, '.svc', 'running');
    mkdirSync(records, { recursive: true });
    for (const [index, id] of ids.entries()) {
      const record = {
        session_id: id,
        url: `localhost:${index + 1}`,
        address: `127.0.0.1:${index + 1}`,
        pid: process.pid,
        process_start: null,
      };
      const rest = { name: 'demo', version: '1.0.0', workdir: '/', started_at_ms: index };
      writeFileSync(join(records, `${id}.json`), JSON.stringify({ ...record, ...rest }));
    }
    const { code, stderr } = await svc(workspace, ['watch', '1234']);
    expect(code).toBe(2);
    expect(stderr).toBe(
      `error[E-RUN-091]: 1234 fits more than one session: ${ids[1]}, ${ids[0]}
hint: give more characters of the id
`,
    );
  });
});
