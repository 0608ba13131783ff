import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it, onTestFinished } from 'vitest';

import { Arrivals } from '../support/arrivals.ts';
import { startObligingModel } from '../support/obliging-model.mjs';
import { makeWorkspace } from '../support/workspace.ts';
import { spawnAgent } from './editor.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = Record<string, any>;

const schemaFile = new URL('../../node_modules/@agentclientprotocol/sdk/schema/v1/schema.json', import.meta.url);
const schema = JSON.parse(readFileSync(schemaFile, 'utf8')) as { $defs: Record<string, Json> };

/** Whether something is what version 1 of the protocol defines under this name, and has no other keys at its root. */
const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema({ ...schema, $id: 'acp' });
function isDefined(name: string, value: Json): boolean {
  const ok = ajv.validate({ $ref: `acp#/$defs/${name}` }, value);
  if (!ok) throw new Error(`no ${name}: ${ajv.errorsText()}: ${JSON.stringify(value)}`);
  const unknown = Object.keys(value).filter((key) => key !== '_meta' && !keysOf(schema.$defs[name] ?? {}).has(key));
  if (unknown.length > 0) throw new Error(`${name} has no ${unknown.join(', ')}`);
  return true;
}

function keysOf(part: Json): Set<string> {
  const keys = new Set(Object.keys((part['properties'] as Json | undefined) ?? {}));
  const named = typeof part['$ref'] === 'string' ? [schema.$defs[part['$ref'].split('/').at(-1) ?? ''] ?? {}] : [];
  const inner = [part['allOf'], part['anyOf'], part['oneOf']].flatMap((list: Json[] | undefined) => list ?? []);
  for (const each of [...named, ...inner]) for (const key of keysOf(each)) keys.add(key);
  return keys;
}

const results: Readonly<Record<string, string>> = {
  initialize: 'InitializeResponse',
  'session/new': 'NewSessionResponse',
  'session/load': 'LoadSessionResponse',
  'session/list': 'ListSessionsResponse',
  'session/prompt': 'PromptResponse',
  'session/close': 'CloseSessionResponse',
};

/** An agent at the other end of its standard streams; every line that it writes is held to the schema. */
class Wire {
  readonly messages = new Arrivals<Json>();
  readonly all: Json[] = [];
  readonly exited: Promise<unknown>;
  readonly #agent: ReturnType<typeof spawnAgent>;
  readonly #asked = new Map<unknown, string>();
  #next = 0;

  constructor(agent: ReturnType<typeof spawnAgent>) {
    this.#agent = agent;
    this.exited = once(agent, 'exit');
    let rest = '';
    const utf8 = new TextDecoder('utf-8', { fatal: true });
    agent.stdout?.on('data', (bytes: Buffer) => {
      rest += utf8.decode(bytes, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#take(JSON.parse(line) as Json);
    });
  }

  #take(message: Json): void {
    if (message['jsonrpc'] !== '2.0') throw new Error(`no message: ${JSON.stringify(message)}`);
    const { method, id, result, error, params } = message;
    if (method === 'session/update') isDefined('SessionNotification', params as Json);
    else if (method === undefined) {
      if ((result === undefined) === (error === undefined)) throw new Error(`no answer: ${JSON.stringify(message)}`);
      if (error !== undefined) {
        isDefined('Error', error as Json);
        if (!/^[^\n]+$/.test(String(error.message))) throw new Error('the message of an error is one line');
      } else isDefined(results[this.#asked.get(id) ?? ''] ?? '', result as Json);
    } else throw new Error(`the agent asks for ${method}`);
    this.all.push(message);
    this.messages.push(message);
  }

  send(message: Json): void {
    this.#agent.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** The answer to a request. */
  async ask(method: string, params: Json, id: string | number = (this.#next += 1)): Promise<Json> {
    this.#asked.set(id, method);
    this.send({ id, method, params });
    return await this.answer(id);
  }

  async answer(id: unknown): Promise<Json> {
    for (;;) {
      const found = this.all.find((message) => message['id'] === id && message['method'] === undefined);
      if (found !== undefined) return found;
      await this.messages.next();
    }
  }

  begin(method: string, params: Json, id: string): void {
    this.#asked.set(id, method);
    this.send({ id, method, params });
  }

  end(): void {
    this.#agent.stdin?.end();
  }
}

interface Opened {
  readonly wire: Wire;
  readonly cwd: string;
  readonly initialized: Json;
}

/** An agent whose client can do nothing of what is optional. */
async function opened(): Promise<Opened> {
  const model = await startObligingModel();
  onTestFinished(() => model.close());
  const inference = `inference: { model: m, endpoint: "${model.endpoint}", driver: { artifact: svc-driver-openai } }\n`;
  const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
  const workspace = makeWorkspace({ 'svc.yaml': `name: demo\nversion: 1.2.3\n${inference}${asker}` });
  const cwd = join(dirname(workspace.folder), 'code');
  mkdirSync(cwd, { recursive: true });
  const agent = spawnAgent(workspace, []);
  onTestFinished(() => void agent.kill());
  const wire = new Wire(agent);
  const initialized = await wire.ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
  return { wire, cwd, initialized: initialized['result'] as Json };
}

async function session({ wire, cwd }: Opened): Promise<string> {
  const { result } = await wire.ask('session/new', { cwd, mcpServers: [] });
  return result.sessionId as string;
}

const text = (said: string): Json[] => [{ type: 'text', text: said }];
const updatesOf = ({ all }: Wire): Json[] => all.filter(({ method }) => method === 'session/update');

// The names are those of the requirements of the protocol's Test Compatibility Kit for version 1.
describe('the requirements of the kit on the connection', () => {
  it('TRANSPORT-001 and -002, JSONRPC-001 to -005, EXT-001, ERROR-001: sound lines, ids as they came, and mistakes that end nothing', async () => {
    const { wire, cwd } = await opened();
    for (const id of [41, 'forty-two']) {
      expect((await wire.ask('session/list', {}, id))['id']).toBe(id);
    }
    wire.send({ method: 'session/cancel', params: { sessionId: 'none' } });
    wire.send({ method: '_unknown/notification', params: {} });
    const unknown = await wire.ask('unknown/method', {});
    expect(unknown['error'].code).toBe(-32_601);
    expect((await wire.ask('_vendor/custom', {}))['error'].code).toBe(-32_601);
    expect((await wire.ask('session/new', { cwd: 7 }))['error'].code).toBe(-32_602);
    expect((await wire.ask('session/new', { cwd, mcpServers: [] }))['result'].sessionId).toMatch(/./);
    // Nothing was said to the notifications.
    expect(wire.all.filter(({ id }) => id === undefined || id === null)).toEqual(updatesOf(wire));
  });

  it('SHUTDOWN-001: the end of its standard input ends the agent, and its sessions', async () => {
    const open = await opened();
    await session(open);
    open.wire.end();
    expect(await open.wire.exited).toEqual([0, null]);
  });
});

describe('the requirements of the kit on the beginning', () => {
  it('INIT-001 to -004: the version is 1, for a client of the future too, and the agent says who it is', async () => {
    const { wire, initialized } = await opened();
    expect(initialized).toMatchObject({ protocolVersion: 1, agentInfo: { name: 'svc', version: expect.any(String) } });
    const future = { protocolVersion: 65_535, clientCapabilities: {}, info: { name: 't', version: '1' } };
    expect((await wire.ask('initialize', future))['result'].protocolVersion).toBe(1);
  });

  it('AUTH-001, -002 and -005: nothing has to be signed in to, and nothing asks for it', async () => {
    const open = await opened();
    expect(open.initialized['authMethods']).toEqual([]);
    expect(await session(open)).toMatch(/./);
  });
});

describe('the requirements of the kit on sessions', () => {
  it('SESSION-001 and -002, CONFIG-003: each has an id of its own, and no options that were not asked for', async () => {
    const open = await opened();
    const ids = [await session(open), await session(open)];
    expect(new Set(ids).size).toBe(2);
    const made = open.wire.all.flatMap(({ result }) => (result?.sessionId === undefined ? [] : [result as Json]));
    expect(made.map(({ configOptions, modes }) => [configOptions, modes])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it('LIST-001 and -002: they are listed, and none where a folder has none', async () => {
    const open = await opened();
    await session(open);
    expect((await open.wire.ask('session/list', {}))['result'].sessions).toBeInstanceOf(Array);
    expect((await open.wire.ask('session/list', { cwd: '/nowhere' }))['result'].sessions).toEqual([]);
  });

  it('LOAD-001 to -003: what was said comes before the answer, which is an object, and nothing behind it', async () => {
    const open = await opened();
    const { wire, cwd } = open;
    const sessionId = await session(open);
    await wire.ask('session/prompt', { sessionId, prompt: text('hello') });
    const before = wire.all.length;
    const loaded = await wire.ask('session/load', { sessionId, cwd, mcpServers: [] });
    expect(loaded['result']).toEqual({});
    // Whatever was on its way has come before the answer to the next request.
    await wire.ask('session/list', {});
    const told = wire.all.slice(before);
    const at = told.indexOf(loaded);
    expect(told.slice(0, at).map(({ params }) => params.update.sessionUpdate as string)).toContain(
      'user_message_chunk',
    );
    expect(told.slice(at + 1).filter(({ method }) => method === 'session/update')).toEqual([]);
  });

  it('CLOSE-001 and -002: one that rests is closed, and one that works is canceled by it', async () => {
    const open = await opened();
    const { wire } = open;
    expect((await wire.ask('session/close', { sessionId: await session(open) }))['result']).toEqual({});
    const sessionId = await session(open);
    wire.begin('session/prompt', { sessionId, prompt: text('slow') }, 'working');
    while (updatesOf(wire).length === 0) await wire.messages.next();
    expect((await wire.ask('session/close', { sessionId }))['result']).toEqual({});
    expect((await wire.answer('working'))['result'].stopReason).toBe('cancelled');
  });
});

describe('the requirements of the kit on prompts', () => {
  it('PROMPT-001 and -002, SCHEMA-001 and -002, META-001: text is answered, with updates of the session alone', async () => {
    const open = await opened();
    const sessionId = await session(open);
    const _meta = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
    const { result } = await open.wire.ask('session/prompt', { sessionId, prompt: text('hello'), _meta });
    expect(result.stopReason).toBe('end_turn');
    expect(new Set(updatesOf(open.wire).map(({ params }) => params.sessionId as string))).toEqual(new Set([sessionId]));
  });

  it('PROMPT-003, PROMPTCAP-003: links and embedded texts are taken', async () => {
    const open = await opened();
    const sessionId = await session(open);
    const link = { type: 'resource_link', uri: 'file:///a.txt', name: 'a.txt' };
    const resource = { type: 'resource', resource: { uri: 'file:///b.txt', mimeType: 'text/plain', text: 'b' } };
    for (const block of [link, resource]) {
      const { result } = await open.wire.ask('session/prompt', { sessionId, prompt: [...text('read'), block] });
      expect(result.stopReason).toBe('end_turn');
    }
  });

  it('CANCEL-001 and -002: a prompt that is canceled says so, and nothing of it follows', async () => {
    const open = await opened();
    const { wire } = open;
    const sessionId = await session(open);
    wire.begin('session/prompt', { sessionId, prompt: text('slow') }, 'working');
    while (updatesOf(wire).length === 0) await wire.messages.next();
    wire.send({ method: 'session/cancel', params: { sessionId } });
    const answer = await wire.answer('working');
    expect(answer['result'].stopReason).toBe('cancelled');
    const at = wire.all.indexOf(answer);
    await wire.ask('session/list', {});
    expect(wire.all.slice(at + 1).filter(({ method }) => method === 'session/update')).toEqual([]);
  });

  it('CLIENTCAP-001 to -003: nothing is asked of a client that can do nothing of it', async () => {
    const open = await opened();
    const sessionId = await session(open);
    await open.wire.ask('session/prompt', { sessionId, prompt: text('ask') });
    // A request of the agent fails the test as it comes.
    expect(open.wire.all.every(({ method }) => method === undefined || method === 'session/update')).toBe(true);
  });
});
