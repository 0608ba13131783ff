import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { componentizeSource } from '../../../../scripts/componentize.mjs';
import type { ComponentHost } from '@svc/components/component-host.ts';
import { createComponentDriver, DriverRequests } from '../../src/model/component-driver.ts';
import type { Driver, DriverOutcome, InferenceRequest } from '../../src/model/driver.ts';
import { noGrants, temporaryFolder, testHost } from '../../../components/test/support/hosted-tool.ts';
import { noToolCalls } from '../../../../test/support/quiet-calls.ts';

/** Answers with what it was given, or as the model's name asks. */
const source = `
  import { emitChunk, emitThinkingChunk } from 'svc:text/chunks@0.1.0';
  const text = (val) => [{ tag: 'text', val }];
  export const inference = {
    infer(request) {
      emitThinkingChunk('hm');
      emitChunk('hi');
      const response = { content: text(JSON.stringify(request)), stopReason: { tag: 'end-turn' },
        usage: { inputTokens: 5, outputTokens: 6 }, continuationId: 'r_1' };
      switch (request.model) {
        case 'call': {
          const val = { id: 'c1', name: 'bash', input: '{"command":"ls"}' };
          return { ...response, content: [{ tag: 'tool-call', val }], stopReason: { tag: 'tool-call' } };
        }
        case 'bare':
          return { content: [], stopReason: { tag: 'other', val: 'refusal' }, usage: null, continuationId: null };
        case 'error':
          throw Object.assign(new Error('HTTP 529'), { payload: 'HTTP 529' });
        case 'trap':
          return null;
        default:
          return response;
      }
    },
  };`;

const cache = temporaryFolder();
let host: ComponentHost;
let driver: Driver;

beforeAll(async () => {
  host = testHost(cache.path);
  const wasm = await componentizeSource({ source, world: 'driver' });
  const sha256 = createHash('sha256').update(wasm).digest('hex');
  driver = createComponentDriver({
    requests: new DriverRequests(),
    label: 'mirror',
    component: host.open({ name: 'mirror', wasm, sha256 }, noGrants),
    deadlineMs: 20_000,
    endpoint: 'https://api.example.test',
    apiKeyPlaceholder: 'key_1',
    config: { temperature: 0 },
    redact: (text) => text,
  });
});

afterAll(async () => {
  await host.close();
  cache.remove();
});

const request: InferenceRequest = {
  model: 'mirror',
  system: 's',
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'hello' }] },
    { role: 'assistant', content: [{ type: 'tool_call', id: 'c0', name: 'bash', input: { command: 'id' } }] },
    { role: 'tool', toolCallId: 'c0', isError: true, content: [{ type: 'text', text: 'no' }] },
  ],
  tools: [{ name: 'bash', description: 'runs', inputSchema: { type: 'object' } }],
  maxTokens: 4_000_000_000,
};

async function infer(model: string, chunks: string[] = []): Promise<DriverOutcome> {
  return await driver.openTask().infer(
    { ...request, model },
    {
      signal: new AbortController().signal,
      onText: (text) => chunks.push(`text ${text}`),
      onThinking: (text) => chunks.push(`thinking ${text}`),
      ...noToolCalls,
    },
  );
}

describe('a driver that is a WebAssembly component', () => {
  it('gets the whole request and gives a whole response', async () => {
    const chunks: string[] = [];
    const outcome = await infer('mirror', chunks);
    expect(chunks).toEqual(['thinking hm', 'text hi']);
    expect(outcome).toMatchObject({
      kind: 'response',
      response: { stopReason: 'end_turn', usage: { inputTokens: 5, outputTokens: 6 }, continuationId: 'r_1' },
    });
    const [block] = outcome.kind === 'response' ? outcome.response.content : [];
    expect(JSON.parse(block?.type === 'text' ? block.text : '{}')).toMatchObject({
      model: 'mirror',
      endpoint: 'https://api.example.test',
      apiKey: 'key_1',
      config: '{"temperature":0}',
      system: 's',
      messages: [
        { tag: 'user', val: [{ tag: 'text', val: 'hello' }] },
        { tag: 'assistant', val: [{ tag: 'tool-call', val: { id: 'c0', name: 'bash', input: '{"command":"id"}' } }] },
        { tag: 'tool', val: { toolCallId: 'c0', isError: true, content: [{ tag: 'text', val: 'no' }] } },
      ],
      tools: [{ name: 'bash', description: 'runs', inputSchema: '{"type":"object"}' }],
      maxTokens: 2_147_483_647,
    });
  });

  it('makes calls', async () => {
    expect(await infer('call')).toMatchObject({
      response: {
        stopReason: 'tool_call',
        content: [{ type: 'tool_call', id: 'c1', name: 'bash', input: { command: 'ls' } }],
      },
    });
  });

  it('may leave out what is optional, and stop for a reason of its own', async () => {
    expect(await infer('bare')).toEqual({ kind: 'response', response: { content: [], stopReason: 'other: refusal' } });
  });

  it('fails with its error, or by trapping, and works again', async () => {
    expect(await infer('error')).toEqual({ kind: 'failed', error: 'HTTP 529' });
    const trapped = await infer('trap');
    expect(trapped.kind).toBe('failed');
    expect(trapped.kind === 'failed' ? trapped.error : '').toMatch(/^the driver broke off: /);
    expect((await infer('bare')).kind).toBe('response');
  });
});
