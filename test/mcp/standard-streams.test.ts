import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { asks, says, script } from '../support/scripted-turns.ts';
import { scriptCapsule, type ScriptCapsule } from '../support/script-capsule.ts';
import { type StreamedCapsule, staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import type { Workspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

type Json = Readonly<Record<string, unknown>>;

interface Served {
  /** The next line that the server writes. */
  readonly next: () => Promise<Json>;
  readonly send: (message: Json) => void;
  /** Resolves once standard input has taken it. */
  readonly sendBytes: (bytes: string) => Promise<void>;
  /** Closes what the server writes to. */
  readonly readNoMore: () => void;
  readonly end: () => void;
  /** Is null if `svc serve mcp` starts its own. */
  readonly capsule: StreamedCapsule | null;
  /** The exit code, and what was said on standard error. */
  readonly ended: Promise<readonly [number | null, string]>;
}

const saysOne = { manifest: staysUp, script: script(says('one')) };

/** A capsule that nobody runs yet, gone after the test. */
function ownWorkspace(made: ScriptCapsule): Workspace {
  const workspace = scriptCapsule(made);
  onTestFinished(() => workspace.remove());
  return workspace;
}

/** `svc serve mcp`, of a capsule that it starts or of one that runs. */
async function served(way: 'started' | 'joined', made: ScriptCapsule = saysOne): Promise<Served> {
  const capsule = way === 'joined' ? await capsules.script(made) : null;
  const { folder, home } = capsule?.workspace ?? ownWorkspace(made);
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, SVC_CONTAINMENT_CEILING: 'advisory' };
  const args = [program, 'serve', 'mcp', capsule?.line.session_id ?? '--offline'];
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = text(child.stderr);
  const exit = once(child, 'exit') as Promise<[number | null]>;
  const sendBytes = (bytes: string): Promise<void> =>
    new Promise((resolve, reject) => child.stdin.write(bytes, (error) => (error == null ? resolve() : reject(error))));
  return {
    next: async () => JSON.parse((await lines.next()).value as string) as Json,
    send: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    sendBytes,
    readNoMore: () => void child.stdout.destroy(),
    end: () => void child.stdin.end(),
    capsule,
    ended: Promise.all([exit.then(([code]) => code), said]),
  };
}

const initialize: Json = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};
const asking: Json = {
  ...initialize,
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 't', version: '1' },
  },
};
const initialized: Json = { jsonrpc: '2.0', method: 'notifications/initialized' };
const ping = (id: number, padding = ''): Json => ({ jsonrpc: '2.0', id, method: 'ping', params: { padding } });
const refusal = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32_600, message: 'a message must have at most 10485760 bytes' },
};

/** A ping that is so many bytes long, the end of its line not counted. */
function pingOf(id: number, bytes: number): string {
  const bare = JSON.stringify(ping(id)).length;
  return `${JSON.stringify(ping(id, 'x'.repeat(bytes - bare)))}\n`;
}

const longest = 10 * 1024 * 1024;
const unsound = 'Invalid Request: neither a request nor a notification nor an answer';

describe.each(['started', 'joined'] as const)('svc serve mcp of a capsule that is %s', (way) => {
  it('refuses a message of more than 10 MiB, takes the next ones, and ends with its standard input', async () => {
    const { next, send, sendBytes, end, ended } = await served(way);
    send(initialize);
    expect(await next()).toMatchObject({ id: 1, result: { protocolVersion: '2025-11-25' } });
    send(initialized);
    await sendBytes(pingOf(2, longest + 1));
    expect(await next()).toEqual(refusal);
    await sendBytes(pingOf(3, longest));
    expect(await next()).toMatchObject({ id: 3, result: {} });
    await sendBytes(`${pingOf(4, longest / 2)}${pingOf(5, longest / 2)}${pingOf(6, longest / 2)}`);
    expect([(await next())['id'], (await next())['id'], (await next())['id']]).toEqual([4, 5, 6]);
    end();
    expect(await ended).toEqual([0, '']);
  });

  it('refuses a first message of more than 10 MiB', async () => {
    const { next, send, sendBytes, end, ended } = await served(way);
    await sendBytes(pingOf(1, longest + 1));
    expect(await next()).toEqual(refusal);
    send({ ...initialize, id: 2 });
    expect(await next()).toMatchObject({ id: 2, result: { protocolVersion: '2025-11-25' } });
    end();
    expect(await ended).toEqual([0, '']);
  });

  it('answers what is no message with an error, and takes the next ones', async () => {
    const { next, send, sendBytes, end, ended } = await served(way);
    await sendBytes('Is anybody there?\n');
    expect(await next()).toEqual({ jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'Parse error' } });
    send(initialize);
    expect(await next()).toMatchObject({ id: 1, result: { protocolVersion: '2025-11-25' } });
    send(initialized);
    const deep = `${'['.repeat(70)}${']'.repeat(70)}`;
    for (const [line, id, code, why] of [
      ['{"jsonrpc":"2.0","id":2,"method":"ping"', null, -32_700, 'Parse error'],
      ['[{"jsonrpc":"2.0","id":2,"method":"ping"}]', null, -32_600, 'Invalid Request: batches are not served'],
      ['{"jsonrpc":"2.0","id":2,"result":"x"}', null, -32_600, unsound],
      ['{"jsonrpc":"1.0","id":2,"method":"ping"}', 2, -32_600, unsound],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', null, -32_600, unsound],
      [
        `{"jsonrpc":"2.0","id":"a","method":"ping","params":{"a":${deep}}}`,
        'a',
        -32_600,
        'Invalid Request: the message must not nest deeper than 64',
      ],
      // Long ones are read by the part, which stops where one nests deeper than any message.
      [
        `{"jsonrpc":"2.0","id":"b","method":"ping","params":{"b":"${'x'.repeat(100_000)}","a":${'['.repeat(600)}${']'.repeat(600)}}}`,
        null,
        -32_600,
        'Invalid Request: the message must not nest deeper than 64',
      ],
    ] as const) {
      await sendBytes(`${line}\n`);
      expect(await next()).toEqual({ jsonrpc: '2.0', id, error: { code, message: why } });
    }
    send(ping(2));
    expect(await next()).toMatchObject({ id: 2, result: {} });
    end();
    expect(await ended).toEqual([0, '']);
  });

  it('refuses a request beyond 240 that wait, and goes on to read the answers to its questions', async () => {
    const manifest =
      'lifecycle: { task_acceptance: queue, after_task: sleep, queue_depth: 300 }\n' +
      'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
    const { next, send, sendBytes, end, ended } = await served(way, {
      manifest,
      script: script(asks('Which colour?'), says('Done.')),
    });
    send(asking);
    await next();
    send(initialized);
    const call = (id: number): Json => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'demo', arguments: { task: 'Go.' } },
    });
    send(call(1000));
    const question = await next();
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Which colour?' } });
    send(call(1000));
    expect(await next()).toEqual({
      jsonrpc: '2.0',
      id: 1000,
      error: { code: -32_600, message: 'Invalid Request: a request with this id waits for its answer already' },
    });
    await sendBytes(Array.from({ length: 240 }, (_, index) => `${JSON.stringify(call(1001 + index))}\n`).join(''));
    expect(await next()).toEqual({
      jsonrpc: '2.0',
      id: 1240,
      error: { code: -32_000, message: '240 requests wait for their answers already' },
    });
    send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1239 } });
    send(ping(2));
    expect(await next()).toMatchObject({ id: 2, result: {} });
    send({ jsonrpc: '2.0', id: question['id'], result: { action: 'accept', content: { answer: 'green' } } });
    expect(await next()).toMatchObject({ id: 1000, result: { structuredContent: { state: 'completed' } } });
    end();
    expect((await ended)[0]).toBe(0);
  });

  it('ends with a word on standard error when its client reads no more', async () => {
    const { next, send, readNoMore, ended } = await served(way);
    send(initialize);
    await next();
    send(initialized);
    readNoMore();
    send(ping(2));
    expect(await ended).toEqual([0, 'svc: the client cannot be answered any more, so svc serve ends\n']);
  });
});

it('svc serve mcp holds at most 1,024 messages for a capsule that takes none, and says so', async () => {
  const { capsule, end, ended, next, send, sendBytes } = await served('joined');
  send(initialize);
  expect(await next()).toMatchObject({ id: 1, result: { serverInfo: { name: 'demo' } } });
  send(initialized);
  send(ping(2));
  expect(await next()).toMatchObject({ id: 2, result: {} });
  if (capsule === null) throw new Error('it is joined');
  const { child } = capsule.process;
  child.kill('SIGSTOP');
  onTestFinished(() => void child.kill('SIGCONT'));
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } };
  await sendBytes(`${JSON.stringify(progress)}\n`.repeat(1100));
  send(ping(3));
  expect(await next()).toEqual({
    jsonrpc: '2.0',
    id: 3,
    error: { code: -32_000, message: 'the capsule is slow to take what was sent before; ask again' },
  });
  child.kill('SIGCONT');
  await expect
    .poll(
      async () => {
        send(ping(4));
        const answer = await next();
        return 'result' in answer;
      },
      { timeout: 20_000 },
    )
    .toBe(true);
  end();
  const [code, said] = await ended;
  expect({ code, said }).toEqual({
    code: 0,
    said: 'svc: notifications are left out: the capsule is slow to take them\n',
  });
}, 60_000);
