import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';

import { parseJsonObject } from '@svc/protocol/json-object.ts';
import { A2aCapsule } from '../../packages/doors/test/a2a-capsule.ts';
import { casesOf, each, origin, readWall, wordsOf } from './read-wall.ts';

const text = z.string();
const object = z.record(text, z.unknown());

const request = z.strictObject({
  each,
  /** An empty text leaves the header out; a type that is JSON and an `Accept` of both are there unless they are named. */
  headers: z.record(text, text).optional(),
  /** Whether a session has begun before. */
  session: z.boolean().optional(),
  body: object.optional(),
  /** In place of `body`, as it stands. */
  raw: text.optional(),
  status: z.int(),
  type: text.optional(),
  /** Parts of the answer. */
  message: object.optional(),
  words: text.optional(),
});

const requestFile = z.strictObject({ ...origin, requests: z.record(text, request) });

let capsule: A2aCapsule;
beforeAll(async () => {
  capsule = await A2aCapsule.open({ serve: ['mcp'] });
});
afterAll(async () => await capsule.close());

async function post(body: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  const all = { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers };
  const kept = Object.entries(all).filter(([, value]) => value !== '');
  return await fetch(`${capsule.url}/mcp`, { method: 'POST', headers: Object.fromEntries(kept), body });
}

async function sessionHeaders(): Promise<Readonly<Record<string, string>>> {
  const clientInfo = { name: 'c', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const begun = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }), {});
  await begun.text();
  return { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-06-18' };
}

describe.each(readWall('mcp-clients', requestFile))('%s', (_name, file) => {
  it.each(casesOf(file.requests, request))('%s', async (_, given) => {
    const own = given.session === true ? await sessionHeaders() : {};
    const answer = await post(given.raw ?? JSON.stringify({ jsonrpc: '2.0', ...given.body }), {
      ...own,
      ...given.headers,
    });
    const body = await answer.text();
    expect(answer.status).toBe(given.status);
    if (given.type !== undefined) expect(answer.headers.get('content-type')).toContain(given.type);
    const message = parseJsonObject(body) ?? parseJsonObject(/^data: (\{.*)$/m.exec(body)?.[1] ?? '');
    if (given.message !== undefined) expect(message).toMatchObject(given.message);
    if (given.words !== undefined) expect(body).toMatch(wordsOf(given.words));
  });
});
