import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { McpService, type OfferedCall, type OfferedTools } from '../../src/model/programs/mcp-service.ts';
import { exchange, parseResponse } from '../../../kit/test/http/raw-client.ts';

const token = 'token-of-this-session';
/** Fails the run: no test is about a bug. */
function raise(bug: unknown): void {
  process.nextTick(() => {
    throw bug;
  });
}

let service: McpService;
let clients: Client[];
let names: number;

beforeEach(async () => {
  clients = [];
  names = 0;
  service = await McpService.open({
    token: new Secret(token),
    mintName: () => `name-${(names += 1)}`,
    version: '1.2.3',
    onBug: raise,
  });
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await service.close();
});

const count = { name: 'count', description: 'Counts.', inputSchema: { properties: { path: { type: 'string' } } } };

function tools(call: OfferedTools['call'] = async ({ input }) => ({ content: JSON.stringify(input), isError: false })) {
  return { definitions: [count, { name: 'svc-tool-any', description: '', inputSchema: { anyOf: [true] } }], call };
}

const urlOf = (path: string): URL => new URL(`http://127.0.0.1:${service.port}${path}`);

async function connect(path: string, options: ClientOptions = {}, bearer = token): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, options);
  clients.push(client);
  const requestInit = { headers: { Authorization: `Bearer ${bearer}` } };
  await client.connect(new StreamableHTTPClientTransport(urlOf(path), { requestInit }));
  return client;
}

async function post(headers: readonly string[], path = '/mcp/name-1', body = '{}'): Promise<number> {
  const head = [
    `POST ${path} HTTP/1.1`,
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  const bytes = `${head.join('\r\n')}\r\nConnection: close\r\n\r\n${body}`;
  return parseResponse(await exchange({ port: service.port, bytes: [bytes] })).status;
}

it('the tool server gives the digits of a number that JavaScript rounds, and refuses what is no JSON', async () => {
  const calls: OfferedCall[] = [];
  const answers = service.offer(
    tools(async (call) => {
      calls.push(call);
      return { content: '', isError: false };
    }),
  );
  const call = (id: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"at":[{"id":${id}}]}}}`;
  const headers = ['Host: 127.0.0.1', `Authorization: Bearer ${token}`, 'Accept: application/json, text/event-stream'];
  expect(await post(headers, answers.path, call('1234567890123456789'))).toBe(200);
  expect(await post(headers, answers.path, call('7'))).toBe(200);
  expect(await post(headers, answers.path, `${call('1234567890123456789')}]`)).toBe(400);
  expect(calls).toEqual([
    {
      name: 'count',
      input: { at: [{ id: 1234567890123456800 }] },
      digits: { '/at/0/id': '1234567890123456789' },
    },
    { name: 'count', input: { at: [{ id: 7 }] } },
  ]);
});

describe('the tool server, asked by the official client', () => {
  it.each<[string, ClientOptions]>([
    ['with a handshake', {}],
    ['with a request that stands alone', { versionNegotiation: { mode: 'auto' } }],
  ])('names itself, its tools and their schemas, and carries out calls, %s', async (_, options) => {
    const client = await connect(service.offer(tools()).path, options);
    expect(client.getServerVersion()).toEqual({ name: 'svc', version: '1.2.3' });
    expect((await client.listTools()).tools).toMatchObject([
      { ...count, inputSchema: { ...count.inputSchema, type: 'object' } },
      { name: 'svc-tool-any', inputSchema: { type: 'object', anyOf: [true] } },
    ]);
    const answer = await client.callTool({ name: 'count', arguments: { path: 'ä' } });
    expect(answer).toMatchObject({ content: [{ type: 'text', text: '{"path":"ä"}' }], isError: false });
    expect(await client.callTool({ name: 'count' })).toMatchObject({ content: [{ type: 'text', text: '{}' }] });
  });

  it('passes on that a call failed, and nothing of why one was broken off', async () => {
    const { path } = service.offer(
      tools(async ({ name }) => {
        if (name === 'count') return { content: 'no such path', isError: true };
        throw new Error('the call was broken off', { cause: new Error('a secret') });
      }),
    );
    const client = await connect(path);
    expect(await client.callTool({ name: 'count' })).toMatchObject({
      content: [{ type: 'text', text: 'no such path' }],
      isError: true,
    });
    await expect(client.callTool({ name: 'other' })).rejects.toThrow(/^the call was broken off$/);
  });

  it('takes calls that come at once, and answers each', async () => {
    const waiting = new Map<unknown, () => void>();
    const seen: OfferedCall[] = [];
    const { path } = service.offer(
      tools(async (call) => {
        seen.push(call);
        await new Promise<void>((resolve) => waiting.set(JSON.stringify(call.input), resolve));
        return { content: JSON.stringify(call.input), isError: false };
      }),
    );
    const client = await connect(path);
    const both = [1, 2].map((n) => client.callTool({ name: 'count', arguments: { n } }));
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(2);
    waiting.get('{"n":2}')?.();
    expect(await both[1]).toMatchObject({ content: [{ text: '{"n":2}' }] });
    waiting.get('{"n":1}')?.();
    expect(await both[0]).toMatchObject({ content: [{ text: '{"n":1}' }] });
  });

  it('keeps the tools of two inferences apart, and those of one that is over away', async () => {
    const one = service.offer({ definitions: [count], call: async () => ({ content: 'one', isError: false }) });
    const other = service.offer({ definitions: [], call: async () => ({ content: 'other', isError: false }) });
    const [first, second] = await Promise.all([connect(one.path), connect(other.path)]);
    expect((await first.listTools()).tools.map(({ name }) => name)).toEqual(['count']);
    expect((await second.listTools()).tools).toEqual([]);
    one.withdraw();
    one.withdraw();
    await expect(first.callTool({ name: 'count' })).rejects.toThrow('No inference is under way at this address.');
    expect(await post([`Host: 127.0.0.1`, `Authorization: Bearer ${token}`], one.path)).toBe(404);
    expect(await second.callTool({ name: 'any' })).toMatchObject({ content: [{ text: 'other' }] });
  });

  it('lets no client in without the token of the session', async () => {
    const { path } = service.offer(tools());
    await expect(connect(path, {}, 'another token')).rejects.toThrow('A valid bearer token is required.');
  });
});

describe('the tool server, asked by anybody', () => {
  const authorization = `Authorization: Bearer ${token}`;

  it.each<[string, readonly string[], number]>([
    ['no token', ['Host: 127.0.0.1'], 401],
    ['another token', ['Host: 127.0.0.1', 'Authorization: Bearer x'], 401],
    ['another host, as a rebound name sends it', ['Host: evil.example', authorization], 421],
    ['no host', [authorization], 400],
    [
      'a body that is no request',
      ['Host: 127.0.0.1', authorization, 'Accept: application/json, text/event-stream'],
      400,
    ],
  ])('refuses %s', async (_, headers, status) => {
    service.offer(tools());
    expect(await post(headers)).toBe(status);
  });

  it('refuses a body that is not JSON, or is too long, and other methods', async () => {
    service.offer(tools());
    const accept = 'Accept: application/json, text/event-stream';
    expect(await post(['Host: localhost', authorization, accept], '/mcp/name-1', '{"jsonrpc":')).toBe(400);
    const request = (head: string): string =>
      `${head}\r\nHost: 127.0.0.1\r\n${authorization}\r\nContent-Length: 99999999\r\n\r\n`;
    const answers = await Promise.all(
      ['POST /mcp/name-1 HTTP/1.1', 'GET /mcp/name-1 HTTP/1.1', 'POST / HTTP/1.1'].map(async (head) =>
        parseResponse(await exchange({ port: service.port, bytes: [request(head)] })),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([413, 405, 404]);
  });

  it('cuts every connection when it is closed', async () => {
    const { path } = service.offer(tools(() => new Promise(() => {})));
    const client = await connect(path);
    const call = client.callTool({ name: 'count' });
    const [lost] = await Promise.allSettled([call, service.close().then(() => client.close())]);
    expect(lost.status).toBe('rejected');
  });
});
