import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { createComponentDriver, DriverRequests } from '@svc/session/model/component-driver.ts';
import type { Driver, DriverOutcome, InferenceRequest, Message } from '@svc/session/model/driver.ts';
import { startFakeAnthropic } from '@svc/testing/fake-anthropic.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import type { FakeProvider } from '@svc/testing/fake-provider.ts';
import { calls, refuses, says, type FakeReply } from '@svc/testing/fake-reply.ts';
import { BundledArtifacts } from './bundled-artifact.ts';
import { noToolCalls } from '../support/quiet-calls.ts';

const key = 'sk-very-secret';
const placeholder = 'svc-key-0123';

let artifacts: BundledArtifacts;
beforeAll(async () => {
  artifacts = await BundledArtifacts.open();
}, 300_000);
afterAll(async () => await artifacts.close());

const providers = [
  {
    name: 'svc-driver-openai',
    start: startFakeOpenAi,
    path: '/v1/chat/completions',
    header: 'authorization',
    sent: `Bearer ${key}`,
    eventsToFirstText: 2,
    toReason: 3,
  },
  {
    name: 'svc-driver-anthropic',
    start: startFakeAnthropic,
    path: '/v1/messages',
    header: 'x-api-key',
    sent: key,
    eventsToFirstText: 4,
    toReason: 6,
  },
] as const;

interface Turn {
  readonly outcome: DriverOutcome;
  /** What watchers saw, thinking marked by `~`. */
  readonly seen: readonly string[];
}

interface Setting {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly onText?: (text: string) => void;
}

function driverOf(name: string, provider: FakeProvider, config: Setting['config'] = {}): Driver {
  return createComponentDriver({
    requests: new DriverRequests(),
    label: name,
    component: artifacts.component(name, {
      mayReach: (url) => url.origin === provider.endpoint,
      credential: { origin: provider.endpoint, placeholder, secret: new Secret(key) },
    }),
    deadlineMs: 20_000,
    endpoint: provider.endpoint,
    apiKeyPlaceholder: placeholder,
    config,
    redact: (text) => text,
  });
}

/** The turns of a task that calls a tool in each, the last being a completion of somebody else in between when `interrupted`. */
async function bodiesOf(name: string, provider: FakeProvider, interrupted: boolean): Promise<readonly unknown[]> {
  const driver = driverOf(name, provider);
  const task = driver.openTask();
  const quiet = { signal: new AbortController().signal, onText: () => {}, onThinking: () => {}, ...noToolCalls };
  const asked = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
  const common = { model: 'm-1', system: '', tools: [], maxTokens: 512 };
  const messages: Message[] = [asked('Grüße 👋')];
  let continuation: { readonly continuationId?: string } = {};
  for (let count = 1; count <= 4; count += 1) {
    if (interrupted && count > 1) await driver.openTask().infer({ ...common, messages: [asked('Sum up.')] }, quiet);
    const outcome = await task.infer({ ...common, messages: [...messages], ...continuation }, quiet);
    if (outcome.kind !== 'response') throw new Error(outcome.error);
    const { content, continuationId } = outcome.response;
    expect(continuationId).toMatch(new RegExp(`:${messages.length}$`));
    continuation = continuationId === undefined ? {} : { continuationId };
    const [call] = content.flatMap((block) => (block.type === 'tool_call' ? [block] : []));
    messages.push({ role: 'assistant', content });
    messages.push({
      role: 'tool',
      toolCallId: call?.id ?? '',
      isError: false,
      content: [{ type: 'text', text: `result ${count}` }],
    });
  }
  await driver.close();
  return provider.requests.map(({ json }) => (json as { readonly messages: unknown }).messages);
}

async function turn(
  name: string,
  provider: FakeProvider,
  request: Partial<InferenceRequest> = {},
  setting: Setting = {},
): Promise<Turn> {
  const driver = driverOf(name, provider, setting.config);
  const seen: string[] = [];
  const whole = {
    model: 'm-1',
    system: 'Be brief.',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Grüße 👋' }] }],
    tools: [],
    maxTokens: 512,
  } as const;
  const outcome = await driver.openTask().infer(
    { ...whole, ...request },
    {
      signal: setting.signal ?? new AbortController().signal,
      onText: (text) => {
        seen.push(text);
        setting.onText?.(text);
      },
      onThinking: (text) => seen.push(`~${text}`),
      ...noToolCalls,
    },
  );
  await driver.close();
  return { outcome, seen };
}

describe.each(providers)('$name as it ships', ({ name, start, path, header, sent, eventsToFirstText, toReason }) => {
  it('streams a reply, and the key reaches only the header of the request', async () => {
    await using provider = await start([{ kind: 'stream', thinking: ['hm'], text: ['Grü', 'ße 🎈'] }], { key });
    const { outcome, seen } = await turn(name, provider);
    expect(seen).toEqual(['~hm', 'Grü', 'ße 🎈']);
    expect(outcome).toMatchObject({
      kind: 'response',
      response: {
        content: [
          { type: 'thinking', text: 'hm' },
          { type: 'text', text: 'Grüße 🎈' },
        ],
        stopReason: 'end_turn',
        usage: { inputTokens: 10, outputTokens: 5 },
      },
    });
    const request = await provider.request(1);
    expect(request).toMatchObject({ method: 'POST', path });
    expect(request.headers[header]).toBe(sent);
    expect(request.headers['content-length']).toBe(String(Buffer.byteLength(request.body)));
    expect(request.body).toContain('Grüße 👋');
    expect(request.body).not.toContain(key);
    await expect(request.closed).resolves.toBe('answered');
  });

  it('sends the whole conversation with each turn, also when another came between', async () => {
    const reply: FakeReply = { kind: 'stream', toolCalls: [{ id: 'call_1', name: 'look', arguments: '{"at":"ü"}' }] };
    const play = async (interrupted: boolean): Promise<readonly unknown[]> => {
      await using provider = await start(
        Array.from({ length: 7 }, () => reply),
        { key },
      );
      return await bodiesOf(name, provider, interrupted);
    };
    const straight = await play(false);
    const summed = await play(true);
    expect(straight.map((messages) => (messages as unknown[]).length)).toEqual([1, 3, 5, 7]);
    expect([summed[0], summed[2], summed[4], summed[6]]).toEqual(straight);
    expect(JSON.stringify(straight[3])).toContain('Grüße 👋');
    for (const messages of straight.slice(1)) expect(JSON.stringify(messages)).toContain('result 1');
  });

  it('shows each piece while the reply is being made', async () => {
    let show = (): void => {};
    const firstShown = new Promise<void>((resolve) => (show = resolve));
    const reply: FakeReply = {
      kind: 'stream',
      text: ['one', 'two'],
      pace: async (event) => (event < eventsToFirstText ? undefined : await firstShown),
    };
    await using provider = await start([reply], { key });
    const { seen } = await turn(name, provider, {}, { onText: () => show() });
    expect(seen).toEqual(['one', 'two']);
  });

  it('joins characters that the provider cut in two', async () => {
    await using provider = await start([says('Hi \ud83d', '\ude00', '!\ud800')], { key });
    const { outcome, seen } = await turn(name, provider);
    expect(seen).toEqual(['Hi ', '😀', '!']);
    expect(outcome).toMatchObject({
      kind: 'response',
      response: { content: [{ type: 'text', text: 'Hi 😀!\ufffd' }] },
    });
  });

  it('holds a conversation with a tool', async () => {
    const tools = [{ name: 'g++', description: 'Compiles.', inputSchema: { type: 'object' } }];
    await using provider = await start([calls('g__', { command: '-v' }), says('Done.')], { key });
    const messages: InferenceRequest['messages'] = [{ role: 'user', content: [{ type: 'text', text: 'compile' }] }];
    const first = await turn(name, provider, { tools, messages });
    expect(first.outcome).toMatchObject({
      kind: 'response',
      response: {
        content: [{ type: 'tool_call', id: 'call_a1', name: 'g++', input: { command: '-v' } }],
        stopReason: 'tool_call',
      },
    });
    const answered: InferenceRequest['messages'] = [
      ...messages,
      { role: 'assistant', content: first.outcome.kind === 'response' ? first.outcome.response.content : [] },
      { role: 'tool', toolCallId: 'call_a1', isError: false, content: [{ type: 'text', text: 'ok' }] },
    ];
    const second = await turn(name, provider, { tools, messages: answered });
    expect(second.outcome).toMatchObject({
      kind: 'response',
      response: { content: [{ type: 'text', text: 'Done.' }] },
    });
  });

  it('tries again after the wait that the provider asks for', async () => {
    await using provider = await start(
      [refuses(429, 'slow down', { 'retry-after': '0' }), { kind: 'drop' }, says('ok')],
      { key },
    );
    const { outcome } = await turn(name, provider);
    expect(outcome).toMatchObject({ kind: 'response', response: { content: [{ type: 'text', text: 'ok' }] } });
    expect(provider.requests).toHaveLength(3);
  });

  it('fails with what the provider said', async () => {
    await using provider = await start([], { key: 'another' });
    const { outcome } = await turn(name, provider);
    expect(outcome).toEqual({ kind: 'failed', error: 'provider answered 401: invalid api key' });
  });

  it('fails when the reply breaks off in the middle', async () => {
    await using provider = await start([{ ...says('Hel', 'lo'), breakAfter: eventsToFirstText }], { key });
    const { outcome, seen } = await turn(name, provider);
    expect(seen).toEqual(['Hel']);
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: expect.stringMatching(/^the (connection broke|provider ended its reply)/),
    });
    expect(provider.requests).toHaveLength(1);
  });

  it('fails when the reply ends without a reason', async () => {
    await using provider = await start([{ ...says('Hel'), finish: null }], { key });
    const { outcome } = await turn(name, provider);
    expect(outcome).toEqual({ kind: 'failed', error: 'the provider ended its reply without a finish reason' });
  });

  it('has its reply where the stream is held open behind the reason to stop', async () => {
    const never = new Promise<void>(() => {});
    const held: FakeReply = { ...says('whole'), pace: async (event) => (event < toReason ? undefined : await never) };
    await using provider = await start([held], { key });
    const { outcome } = await turn(name, provider);
    expect(outcome).toMatchObject({
      kind: 'response',
      response: { content: [{ type: 'text', text: 'whole' }], stopReason: 'end_turn' },
    });
    await expect((await provider.request(1)).closed).resolves.toBe('abandoned');
  });

  it('fails once on an answer that is compressed, and says so', async () => {
    const compressed: FakeReply = { kind: 'refuse', status: 200, body: 'x', headers: { 'content-encoding': 'gzip' } };
    await using provider = await start([compressed], { key });
    const { outcome } = await turn(name, provider);
    expect(outcome).toEqual({ kind: 'failed', error: 'the answer is compressed (gzip), which was not asked for' });
    expect(provider.requests).toHaveLength(1);
  });

  it('fails once on a quota that is used up', async () => {
    await using provider = await start([refuses(429, 'You exceeded your current quota.')], { key });
    const { outcome } = await turn(name, provider);
    expect(outcome).toEqual({
      kind: 'failed',
      error: 'provider answered 429: You exceeded your current quota.',
    });
    expect(provider.requests).toHaveLength(1);
  });

  it('fails on garbage', async () => {
    await using provider = await start(
      [{ kind: 'raw', pieces: [Uint8Array.of(0xff, 0xfe, 0x00, 0x0a), 'data: {"oops\n\n'] }],
      { key },
    );
    const { outcome } = await turn(name, provider, {}, { config: { max_retries: 0 } });
    expect(outcome).toMatchObject({ kind: 'failed', error: expect.stringContaining('not a JSON object: {"oops') });
  });

  it('fails when nobody listens there', async () => {
    const provider = await start([], { key });
    await provider.close();
    const { outcome } = await turn(name, provider, {}, { config: { max_retries: 0 } });
    expect(outcome).toMatchObject({ kind: 'failed', error: expect.stringContaining('cannot reach http://127.0.0.1') });
  });

  it('hangs up when it is canceled', async () => {
    const never = new Promise<void>(() => {});
    await using provider = await start(
      [{ ...says('Hel', 'lo'), pace: async (event) => (event < eventsToFirstText ? undefined : await never) }],
      { key },
    );
    const cancel = new AbortController();
    const running = turn(name, provider, {}, { signal: cancel.signal, onText: () => cancel.abort() });
    await expect((await provider.request(1)).closed).resolves.toBe('abandoned');
    await running;
  });

  it('takes a large request and a large reply', async () => {
    const text = 'ä🎈x'.repeat(100_000);
    await using provider = await start([says(...Array.from({ length: 20 }, () => text.slice(0, 50_000)))], { key });
    const { outcome } = await turn(name, provider, { messages: [{ role: 'user', content: [{ type: 'text', text }] }] });
    expect(outcome).toMatchObject({
      kind: 'response',
      response: { content: [{ type: 'text', text: text.slice(0, 50_000).repeat(20) }] },
    });
    expect((await provider.request(1)).body).toContain(text);
  });
});
