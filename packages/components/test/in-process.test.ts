import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import type { DriverCode } from '@svc/guest/provider/driver-ports.ts';
import { waitFor } from '@svc/guest/provider/steps.ts';
import { RequestFailure } from '@svc/guest/request-failure.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Component, ComponentGrants } from '../src/component.ts';
import { createComponentHost } from '../src/component-host.ts';
import type { ImportLog } from '../src/import-log.ts';
import { isInProcessLog } from '../src/in-process/answers.ts';

const closing: (() => Promise<unknown> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server of this machine that answers each request in turn; the last answer stays. */
async function serve(...answers: readonly Answer[]): Promise<string> {
  let served = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => answers[Math.min(served++, answers.length - 1)]?.(request, response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const request = {
  model: 'm',
  endpoint: '',
  apiKey: 'placeholder-of-the-key',
  config: '{}',
  system: '',
  messages: [],
  tools: [],
  maxTokens: 1,
  continuationId: null,
};

/** A driver that sends the number of its turn and answers with what it is sent. */
function echo(origin: string): () => Promise<DriverCode> {
  return () => {
    let turns = 0;
    return Promise.resolve(function* ({ apiKey }, ports) {
      turns += 1;
      const headers = [['authorization', `Bearer ${apiKey}`]] as const;
      const sent = { url: `${origin}/v1?a=b#c`, headers, body: [`turn ${turns}`] };
      const answer = yield* waitFor(() => ports.post(sent));
      let text = `${answer.status} ${answer.header('x-turn')} `;
      for (let piece = yield* waitFor(() => answer.read(null)); piece !== null;)
        [text, piece] = [text + piece, yield* waitFor(() => answer.read(null))];
      answer.close();
      ports.emitText(text);
      return {
        content: [{ tag: 'text', val: text }],
        stopReason: { tag: 'end-turn' },
        usage: { inputTokens: ports.now() > 0 ? 1 : 0, outputTokens: 2 },
        continuationId: null,
      };
    });
  };
}

function open(code: () => Promise<DriverCode>, grants: Partial<ComponentGrants> = {}): Component {
  const host = createComponentHost({ cacheDir: '/nowhere', packageRoot: '/nowhere' });
  closing.push(() => host.close());
  const wasm = (): never => {
    throw new Error('the component is read');
  };
  return host.open(
    { name: 'echo', wasm, sha256: null, code },
    { preopens: [], env: {}, mayReach: () => true, maxMemoryBytes: 1024 * 1024, ...grants },
  );
}

interface Called {
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
  /** Receives the log of the call. */
  readonly logs?: ImportLog[];
  readonly played?: ImportLog[];
  readonly shown?: string[];
  readonly system?: string;
}

async function ask(
  component: Component,
  { signal, deadlineMs = 60_000, logs, played, shown = [], system = '' }: Called = {},
) {
  return await component.call({
    export: 'svc:driver/inference@0.1.0#infer',
    args: [{ ...request, system }],
    host: { 'svc:text/chunks@0.1.0#emit-chunk': (text: string) => shown.push(text) },
    deadlineMs,
    signal: signal ?? new AbortController().signal,
    ...(logs === undefined ? {} : { imports: { kind: 'recorded', keep: (log) => logs.push(log) } }),
    ...(played === undefined ? {} : { imports: { kind: 'played', next: () => played.shift() ?? null } }),
  });
}

const said = (text: string): object => ({
  content: [{ tag: 'text', val: text }],
  stopReason: { tag: 'end-turn' },
  usage: { inputTokens: 1n, outputTokens: 2n },
  continuationId: null,
});

const answered: Answer = (_, response) => response.setHeader('x-turn', 'a').end('é');

describe('a driver in this process', () => {
  it('sends and reads as its component does, and keeps what it knows between its calls', async () => {
    const heads: string[] = [];
    const origin = await serve((incoming, response) => {
      heads.push(`${incoming.method} ${incoming.url} ${incoming.headers['content-length']}`);
      answered(incoming, response);
    });
    const shown: string[] = [];
    const component = open(echo(origin));
    expect(await ask(component, { shown })).toEqual(said('200 a é'));
    await ask(component, { shown });
    expect(shown).toEqual(['200 a é', '200 a é']);
    expect(heads).toEqual(['POST /v1?a=b 6', 'POST /v1?a=b 6']);
  });

  it('gets and gives no half of a character', async () => {
    const got: unknown[] = [];
    const code = (): Promise<DriverCode> =>
      Promise.resolve(function* ({ system }) {
        got.push(yield* waitFor(() => Promise.resolve(system)));
        return {
          content: [{ tag: 'text', val: 'a\udc4b b' }],
          stopReason: { tag: 'end-turn' },
          usage: { inputTokens: 1, outputTokens: 2 },
          continuationId: null,
        };
      });
    const component = open(code);
    expect(await ask(component, { system: 'whole \ud83d\udc4b' })).toEqual(said('a\ufffd b'));
    await ask(component, { system: 'half \ud83d' });
    expect(got).toEqual(['whole \ud83d\udc4b', 'half \ufffd']);
  });

  it('never holds the key, which only its origin gets', async () => {
    const secret = 'sk-0123456789-0123456789';
    const origin = await serve(({ headers }, response) => void response.end(`you sent ${headers.authorization}`));
    const credential = { placeholder: request.apiKey, secret: new Secret(secret) };
    const component = open(echo(origin), { credential: { ...credential, origin } });
    expect(await ask(component)).toEqual(said(`200 null you sent Bearer ${'*'.repeat(secret.length)}`));
    const elsewhere = open(echo(origin), { credential: { ...credential, origin: 'http://127.0.0.1:1' } });
    expect(await ask(elsewhere)).toEqual({
      tag: 'err',
      val: `cannot reach ${origin}: the capsule may not connect to it`,
    });
  });

  it('reaches no host that is not granted', async () => {
    const component = open(echo('http://127.0.0.1:1'), { mayReach: () => false });
    expect(await ask(component)).toEqual({
      tag: 'err',
      val: 'cannot reach http://127.0.0.1:1: the capsule may not connect to it',
    });
  });

  it('ends with its deadline, a cancel and an answer beyond its memory, and is another one at the next call', async () => {
    const bodies: string[] = [];
    let reply: Answer = () => {};
    const origin = await serve((incoming, response) => reply(incoming, response));
    const component = open(async () => {
      const code = await echo(origin)();
      return (given, ports) =>
        code(given, {
          ...ports,
          post: (sent) => {
            bodies.push(String(sent.body));
            return ports.post(sent);
          },
        });
    });
    await expect(ask(component, { deadlineMs: 30 })).rejects.toMatchObject({ kind: 'deadline' });
    const stop = new AbortController();
    reply = () => stop.abort();
    await expect(ask(component, { signal: stop.signal })).rejects.toMatchObject({ kind: 'canceled' });
    reply = (_, response) => void response.end(Buffer.alloc(2 * 1024 * 1024));
    await expect(ask(component)).rejects.toMatchObject({ kind: 'memory' });
    reply = answered;
    expect(await ask(component)).toEqual(said('200 a é'));
    expect(new Set(bodies)).toEqual(new Set(['turn 1']));
  });

  it('makes no further request and waits for nothing once it was canceled', async () => {
    const [stop, origin] = [new AbortController(), await serve(() => stop.abort())];
    const went: string[] = [];
    const component = open(() =>
      Promise.resolve(function* (_, ports) {
        for (let attempt = 1; attempt < 4; attempt += 1) {
          went.push(`attempt ${attempt}`);
          try {
            yield* waitFor(() => ports.post({ url: origin, headers: [], body: '' }));
          } catch (error) {
            if (!(error instanceof RequestFailure)) throw error;
            yield* waitFor(() => ports.sleep(1_000_000));
          }
        }
        throw new Error('it goes on');
      }),
    );
    await expect(ask(component, { signal: stop.signal })).rejects.toMatchObject({ kind: 'canceled' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(went).toEqual(['attempt 1']);
  });

  it('cannot be called where it cannot be read, and is read anew at the next call', async () => {
    let reads = 0;
    const component = open(() => {
      reads += 1;
      return reads === 1 ? Promise.reject(new Error('too many open files')) : echo('http://127.0.0.1:1')();
    });
    await expect(ask(component)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await ask(component)).toMatchObject({ tag: 'err' });
  });

  it('shows long text in the pieces of frames, and breaks off with a response that no session holds', async () => {
    const shown: string[] = [];
    const component = open(() =>
      Promise.resolve(function* (_, ports) {
        yield* waitFor(() => ports.emitText('x'.repeat(2.5 * 1024 * 1024)));
        const text = 'x'.repeat(33 * 1024 * 1024);
        return {
          content: [{ tag: 'text', val: text }],
          stopReason: { tag: 'end-turn' },
          usage: null,
          continuationId: null,
        };
      }),
    );
    await expect(ask(component, { shown })).rejects.toMatchObject({
      kind: 'trap',
      message: expect.stringMatching(
        /^the driver gave an answer of more than 64 MiB, .*: inference\.max_tokens bounds/,
      ),
    });
    expect(shown.map(({ length }) => length / 1024 / 1024)).toEqual([1, 1, 0.5]);
  });

  it('says of a request that is too large how large it may be, and sends nothing of it', async () => {
    const origin = await serve(answered);
    const component = open(() =>
      Promise.resolve(function* (_, ports) {
        yield* waitFor(() => ports.post({ url: `${origin}/v1`, headers: [], body: 'x'.repeat(64 * 1024 * 1024 + 1) }));
        throw new Error('it was sent');
      }),
    );
    expect(await ask(component)).toEqual({
      tag: 'err',
      val: `the request to ${origin} is larger than the 64 MiB that svc sends`,
    });
  });

  it('comes to the same when it is played, and says where it does not', async () => {
    const origin = await serve(answered, (_, response) => void response.writeHead(500).end());
    const logs: ImportLog[] = [];
    const credential = { origin, placeholder: request.apiKey, secret: new Secret('sk-0123456789-0123456789') };
    const recording = open(echo(origin), { imports: { kind: 'recorded', maxBytes: 10_000 }, credential });
    const first = await ask(recording, { logs });
    const second = await ask(recording, { logs });
    expect(logs.map(({ instance, log }) => [instance, isInProcessLog(log ?? '')])).toEqual([
      [1, true],
      [1, false],
    ]);
    expect(logs[0]?.log).not.toContain(request.apiKey);
    const grants = { imports: { kind: 'played' }, mayReach: () => false } as const;
    const again = open(echo(origin), grants);
    expect(await ask(again, { played: logs.slice(0, 1) })).toEqual(first);
    expect(await ask(again, { played: logs.slice(1) })).toEqual(second);
    const [started] = logs;
    const other = open(echo('http://127.0.0.1:1'), grants);
    await expect(ask(other, { played: logs.slice(0, 1) })).rejects.toMatchObject({
      name: 'ComponentParted',
      asked: 'in-process#post',
      problem: 'is asked with other arguments',
    });
    const longer = { instance: 1, log: started?.log?.replace(/\]$/, ',["in-process#now",[],{"ok":1}]]') ?? null };
    await expect(ask(open(echo(origin), grants), { played: [longer] })).rejects.toMatchObject({
      problem: 'ends where the recording goes on with in-process#now',
    });
  });

  it('keeps no log that is too long, and goes on', async () => {
    const origin = await serve(answered);
    const logs: ImportLog[] = [];
    const component = open(echo(origin), { imports: { kind: 'recorded', maxBytes: 20 } });
    expect(await ask(component, { logs })).toEqual(said('200 a é'));
    await ask(component, { logs });
    expect(logs.map(({ log }) => log)).toEqual([null, null]);
  });

  it('leaves the recording of a component to that component', async () => {
    const component = open(echo('http://127.0.0.1:1'), { imports: { kind: 'played' } });
    const log = '[["wasi:clocks/wall-clock#now",[],{"ok":null}]]';
    await expect(ask(component, { played: [{ instance: 1, log }] })).rejects.toThrow('the component is read');
  });
});
