import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { Reply } from '@svc/kit/http/reply.ts';
import { type A2aCapsule, type Json, useA2aCapsules, userMessage } from './a2a-capsule.ts';
import { connectMcp, revisions } from './mcp-client.ts';
import { Speaker } from './speaker.ts';
import { TokenHome } from './token-home.ts';
import { says } from '../../../test/support/fake-driver.ts';

const open = useA2aCapsules();
const mebibyte = 1024 * 1024;

/** A file of 10 MiB, which is 13.3 MiB as base64: nine of them are less than 128 MiB. */
class LargeFile {
  readonly #bytes: Buffer;
  /** How many clients had it read for them. */
  read = 0;

  constructor(bytes = Buffer.alloc(10 * mebibyte)) {
    this.#bytes = bytes;
  }

  reply(): Reply {
    const source = Readable.from(this.#pieces(), { highWaterMark: 0 });
    return {
      kind: 'readable',
      status: 200,
      contentType: 'application/octet-stream',
      length: this.#bytes.length,
      source,
    };
  }

  *#pieces(): Generator<Buffer> {
    this.read += 1;
    yield this.#bytes;
  }
}

async function withFile(file: LargeFile): Promise<A2aCapsule> {
  return await open({ serve: ['mcp', 'a2a'], resources: () => file.reply() });
}

interface McpRequest {
  readonly body: string;
  readonly headers: Record<string, string>;
}

function mcpRequest(method: string, name: string, params: Json): McpRequest {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  return {
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } }),
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': name,
    },
  };
}

const uri = 'svc-file:///large.bin';
const reading = mcpRequest('resources/read', uri, { uri });

/** The message that a request comes to, unless `signal` ends it before. */
async function messageOf(
  capsule: A2aCapsule,
  { body, headers }: McpRequest,
  signal: AbortSignal | null = null,
): Promise<Json> {
  const sent = { 'content-type': 'application/json', ...headers };
  const response = await fetch(`${capsule.url}/mcp`, { method: 'POST', headers: sent, body, signal });
  const text = await response.text();
  // A file comes as JSON, the rest as an event.
  return JSON.parse(text.slice(text.indexOf('{'))) as Json;
}

/** A client that asks and does not read the answer. */
async function deafClient({ port }: A2aCapsule, { body, headers }: McpRequest): Promise<Socket> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return await deaf(
    port,
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n${body}`,
  );
}

async function deaf(port: number, request: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.pause();
  await once(socket, 'connect');
  socket.write(request);
  return socket;
}

describe('files that clients of MCP ask for and do not read', () => {
  it('fill up to 128 MiB, the next wait for room, and where many wait already they fail', async () => {
    const file = new LargeFile();
    const capsule = await withFile(file);
    const unread = await Promise.all(Array.from({ length: 9 }, () => deafClient(capsule, reading)));
    await expect.poll(() => file.read, { timeout: 120_000 }).toBe(9);
    const asked = Array.from({ length: 33 }, () => messageOf(capsule, reading));
    // The end of the test cuts most of them.
    void Promise.allSettled(asked);
    const refused = await Promise.race(asked);
    expect(refused['error']).toMatchObject({ code: -32_000, message: expect.stringContaining('ask again') });
    expect(file.read).toBe(9);
    for (const socket of unread) socket.destroy();
    const served = await Promise.any(
      asked.map(async (message) => {
        const { result } = await message;
        return result.contents[0].blob.length as number;
      }),
    );
    expect(served).toBe(13_981_016);
  }, 240_000);

  it.each(revisions)(
    'reach clients of %s that read, many at once and one after another',
    async (revision) => {
      const file = new LargeFile(Buffer.alloc(10 * mebibyte, 'text\n'));
      const capsule = await withFile(file);
      const client = await connectMcp(capsule, { revision });
      onTestFinished(async () => await client.close());
      const read = await Promise.all(Array.from({ length: 12 }, async () => await client.readResource({ uri })));
      for (const { contents } of read) expect((contents[0] as Json)['text'].length).toBe(10 * mebibyte);
      await client.readResource({ uri });
      expect(file.read).toBe(13);
    },
    240_000,
  );
});

describe('results of tasks that clients of MCP ask for and do not read', () => {
  it('fill up to 128 MiB, and the result of a call arrives once there is room', async () => {
    // A control character is six bytes as JSON, and a result has the text twice.
    const long = '\u0001'.repeat(mebibyte);
    const capsule = (await open({ turns: [says(long), says(long)], serve: ['mcp', 'a2a'] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('x'));
    const asking = mcpRequest('tasks/get', task.id, { taskId: task.id });
    const unread = await Promise.all(Array.from({ length: 10 }, () => deafClient(capsule, asking)));
    await Promise.all(unread.map(async (socket) => await once(socket, 'readable')));
    const waiting = new AbortController();
    const asked = Array.from({ length: 33 }, () => messageOf(capsule, asking, waiting.signal));
    void Promise.allSettled(asked);
    expect((await Promise.race(asked))['error']).toMatchObject({ code: -32_000 });
    // So that nobody reads what comes to a third of a gigabyte.
    waiting.abort();
    const client = await connectMcp(capsule, { revision: '2025-11-25' });
    onTestFinished(async () => await client.close());
    const called = client.callTool({ name: 'demo', arguments: { task: 'y' } });
    await expect
      .poll(() => capsule.fixture.traced.filter((event) => event.event_type === 'task_end').length, {
        timeout: 120_000,
      })
      .toBe(2);
    for (const socket of unread) socket.destroy();
    expect(((await called).structuredContent as Json)['text'].length).toBe(mebibyte);
  }, 240_000);
});

/** The result of a task: ten times as much is less than 128 MiB, and eleven times is more. */
async function spoken(): Promise<{ capsule: A2aCapsule; id: string }> {
  const speaker = new Speaker();
  const capsule = (await open({ turns: [speaker.turn] })).run();
  const { task } = await capsule.result('SendMessage', {
    ...userMessage('x'),
    configuration: { returnImmediately: true },
  });
  const stream = await capsule.stream('SubscribeToTask', { id: task.id });
  // As JSON a control character is six bytes.
  for (let said = 1; said <= 4; said += 1) {
    await speaker.say('\u0001'.repeat(mebibyte / 2));
    await stream.until((events) => events.length > said);
  }
  return { capsule, id: task.id };
}

describe('streams of A2A that begin with a long task and are not read', () => {
  const subscribe = async ({ capsule, id }: { capsule: A2aCapsule; id: string }): Promise<Response> =>
    await capsule.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }));

  it('fill up to 128 MiB; the next fails, and a minute later those end that took nothing', async () => {
    const task = await spoken();
    const { capsule, id } = task;
    const unread = await Promise.all(Array.from({ length: 10 }, () => capsule.deaf('SubscribeToTask', { id })));
    await Promise.all(unread.map(async (socket) => await once(socket, 'readable')));
    const refused = await subscribe(task);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ error: 'busy' });
    for (let beats = 0; beats < 20; beats += 1) capsule.fixture.clock.advance(4000);
    await expect
      .poll(
        async () => {
          const { status, body } = await subscribe(task);
          await body?.cancel();
          return status;
        },
        { timeout: 120_000 },
      )
      .toBe(200);
    for (const socket of unread) {
      socket.resume();
      if (!socket.closed) await once(socket, 'close');
    }
  }, 240_000);

  it('live on where their reader takes a part now and then', async () => {
    const { capsule, id } = await spoken();
    const slow = await capsule.deaf('SubscribeToTask', { id });
    const taken = { bytes: 0 };
    slow.on('data', (bytes: Buffer) => {
      taken.bytes += bytes.length;
    });
    slow.pause();
    for (let part = 1; part <= 4; part += 1) {
      slow.resume();
      while (taken.bytes < part * 2 * mebibyte) await once(slow, 'data');
      slow.pause();
      for (let beats = 0; beats < 7; beats += 1) capsule.fixture.clock.advance(4000);
    }
    slow.resume();
    while (taken.bytes < 12 * mebibyte) await once(slow, 'data');
    expect(slow.destroyed).toBe(false);
  }, 240_000);
});

describe('a door token whose client reads nothing', () => {
  const shown = (request: McpRequest, token: string): McpRequest => ({
    ...request,
    headers: { ...request.headers, authorization: `Bearer ${token}` },
  });

  it('has half of the room for files in answers of MCP, and others are served at once', async () => {
    const home = new TokenHome();
    const [ann, bob] = [await home.add('ann'), await home.add('bob')];
    const file = new LargeFile();
    const capsule = await open({ serve: ['mcp'], resources: () => file.reply(), callers: home.callers() });
    await Promise.all(Array.from({ length: 9 }, () => deafClient(capsule, shown(reading, ann))));
    await expect.poll(() => file.read, { timeout: 120_000 }).toBe(4);
    for (const token of [bob, 'operator-token']) {
      const { result } = await messageOf(capsule, shown(reading, token));
      expect(result.contents[0].blob.length).toBe(13_981_016);
    }
    expect(file.read).toBe(6);
  }, 240_000);

  it('has half of the room for other answers, and others are served at once', async () => {
    const home = new TokenHome();
    const [ann, bob] = [await home.add('ann'), await home.add('bob')];
    const reply = (): Reply => ({ kind: 'json', status: 200, text: JSON.stringify('x'.repeat(15 * mebibyte)) });
    const capsule = await open({ resources: reply, callers: home.callers() });
    const head = (token: string): string =>
      `GET /resources/files/x HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`;
    for (let asked = 0; asked < 4; asked += 1) await once(await deaf(capsule.port, head(ann)), 'readable');
    const status = async (token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${capsule.url}/resources/files/x`, { headers });
      await response.arrayBuffer();
      return response.status;
    };
    expect([await status(ann), await status(bob), await status('operator-token')]).toEqual([503, 200, 200]);
  });
});
