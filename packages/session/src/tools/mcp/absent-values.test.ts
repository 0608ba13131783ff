import { describe, expect, it } from 'vitest';

import { FakeLauncher, FakeProcess } from '../../../../../test/support/fake-launcher.ts';
import { anything, call, echo, failed, passed, serverOver, wellMeant } from '../../../test/tools/played-server.ts';
import { schemaWithoutNulls } from './absent-values.ts';
import type { ToolServer } from './tool-server.ts';

const greeting = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'x', version: '1' },
};

/** Makes the tools of a server that answers one method with the given answer, and others as it should. */
function serverThat(method: string, answer: object): ToolServer {
  const launcher = new FakeLauncher(
    () =>
      new FakeProcess((message, process) => {
        if (message['method'] === method) process.write({ id: message['id'], ...answer });
        else wellMeant([echo])(message, process);
      }),
  );
  return serverOver(launcher, { kept: null });
}

describe('a server that writes null for what is absent', () => {
  it.each([
    ['initialize', { result: { ...greeting, instructions: null, _meta: null } }],
    ['initialize', { result: { ...greeting, capabilities: { tools: { listChanged: null }, logging: null } } }],
    ['initialize', { result: { ...greeting, serverInfo: { name: 'x', version: '1', icons: null } }, error: null }],
    ['tools/list', { result: { tools: [echo], nextCursor: null } }],
    ['tools/list', { result: { tools: [echo], _meta: null } }],
    ['tools/list', { result: { tools: [{ name: 'echo', description: null, inputSchema: null, title: null }] } }],
    ['tools/list', { result: { tools: [{ ...echo, annotations: { title: null }, outputSchema: null }] } }],
    [
      'tools/list',
      { result: { tools: [{ ...echo, inputSchema: { ...anything, required: null, properties: null } }] } },
    ],
    ['tools/call', { result: { content: [{ type: 'text', text: 'call 1' }], isError: null, _meta: null } }],
    ['tools/call', { result: { content: [{ type: 'text', text: 'call 1' }], structuredContent: null } }],
    ['tools/call', { result: { content: [{ type: 'text', text: 'call 1', annotations: null, _meta: null }] } }],
    ['tools/call', { result: { content: [{ type: 'text', text: 'call 1' }] }, error: null }],
  ])('offers its tool and answers: %s %j', async (method, answer) => {
    const server = serverThat(method, answer);
    expect(await server.offered()).toMatchObject({ value: { tools: [{ name: 'echo' }], leftOut: [] } });
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    await server.close();
  });

  it('has no tool when it has null for their list', async () => {
    const server = serverThat('tools/list', { result: { tools: null } });
    expect(await server.offered()).toEqual({ kind: 'answered', value: { tools: [], leftOut: [] } });
    await server.close();
  });

  it('keeps its data: null in what a tool found is shown', async () => {
    const server = serverThat('tools/call', { result: { content: null, structuredContent: { owner: null } } });
    expect(await server.call(call('echo'))).toEqual(passed('{"owner":null}'));
    await server.close();
  });

  it('fails the call with its error when null is beside that, and with our words when all is null', async () => {
    const refused = serverThat('tools/call', { result: null, error: { code: -32000, message: 'closed', data: null } });
    expect(await refused.call(call('echo'))).toEqual(failed('the server of notes answered with error -32000: closed'));
    await refused.close();
    const empty = serverThat('tools/call', { result: null, error: null });
    expect(await empty.call(call('echo'))).toEqual(
      failed('the server of notes answered what cannot be used: it held neither a result nor an error'),
    );
    await empty.close();
  });
});

describe('an answer that does not fit', () => {
  it.each([
    ['initialize', { ...greeting, protocolVersion: 7 }, 'protocolVersion: expected string, received number'],
    [
      'tools/list',
      { tools: 'x', nextCursor: 7 },
      'tools: expected array, received string, nextCursor: expected string, received number',
    ],
    ['tools/list', { tools: [], nextCursor: 7 }, 'nextCursor: expected string, received number'],
  ])('to %s gets its words: %j', async (method, result, words) => {
    const server = serverThat(method, { result });
    expect(await server.offered()).toEqual({
      kind: 'failed',
      reason: `answered ${method} with what cannot be used: ${words}`,
      late: false,
    });
    await server.close();
  });
});

describe('a list in pages', () => {
  async function listOf(pages: (cursor: unknown) => object): Promise<unknown> {
    const launcher = new FakeLauncher(
      () =>
        new FakeProcess((message, process) => {
          const { id, method, params = {} } = message;
          if (method !== 'tools/list') return wellMeant()(message, process);
          process.write({ id, result: pages((params as { readonly cursor?: unknown }).cursor) });
        }),
    );
    const server = serverOver(launcher, { kept: null });
    const offered = await server.offered();
    await server.close();
    if (offered.kind !== 'answered') return offered;
    return { names: offered.value.tools.map(({ name }) => name), leftOut: offered.value.leftOut };
  }

  const one = { name: 'one', inputSchema: anything };
  const two = { name: 'two', inputSchema: anything };
  const cut = ['what may follow the page whose cursor it gave twice'];

  it('ends where the cursor is empty', async () => {
    const pages = (cursor: unknown): object =>
      cursor === undefined ? { tools: [one], nextCursor: 'b' } : { tools: [two], nextCursor: '' };
    expect(await listOf(pages)).toEqual({ names: ['one', 'two'], leftOut: [] });
  });

  it('ends where a cursor comes again, and says so', async () => {
    const pages = (cursor: unknown): object => ({ tools: [cursor === undefined ? one : two], nextCursor: 'b' });
    expect(await listOf(pages)).toEqual({ names: ['one', 'two'], leftOut: cut });
  });

  it('has each tool once where the server heeds no cursor', async () => {
    expect(await listOf(() => ({ tools: [one, two], nextCursor: 'b' }))).toEqual({
      names: ['one', 'two'],
      leftOut: cut,
    });
  });
});

describe('null in a JSON Schema', () => {
  it('counts as data where a value stands, and as absent where a keyword does', () => {
    const schema = {
      type: 'object',
      title: null,
      required: null,
      properties: {
        gone: null,
        title: { type: ['string', 'null'], description: null, default: null, enum: [null, 'a'] },
        const: { const: null, examples: [null, { a: null }] },
      },
      anyOf: [{ minProperties: null }, { properties: { default: { items: { format: null } } } }],
    };
    expect(schemaWithoutNulls(schema)).toEqual({
      type: 'object',
      properties: {
        title: { type: ['string', 'null'], default: null, enum: [null, 'a'] },
        const: { const: null, examples: [null, { a: null }] },
      },
      anyOf: [{}, { properties: { default: { items: {} } } }],
    });
  });
});
