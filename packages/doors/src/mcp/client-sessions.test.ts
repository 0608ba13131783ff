import * as sdk from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';

import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { Principal } from '../callers/principal.ts';
import { ClientSessions } from './client-sessions.ts';
import { servedCapsule } from './mcp-door.ts';

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function client(name: string, seesAll = false): Principal {
  return { name, scopes: ['send'], seesAll };
}

/** As many at the same moment: what each comes to. */
async function begun(sessions: ClientSessions, count: number, principal: Principal): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const begin = async (): Promise<string> => {
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    try {
      return String((await sessions.handle(request, initialize, principal)).response.status);
    } catch (error) {
      if (error instanceof HttpRefusal) return `${error.status} ${error.code}`;
      throw error;
    }
  };
  const all = await Promise.all(Array.from({ length: count }, begin));
  for (const each of all) counts[each] = (counts[each] ?? 0) + 1;
  return counts;
}

it('a client that begins many sessions at the same moment has as many as one that takes its time', async () => {
  const clock = new FakeClock();
  const about = { name: 'demo', version: '1.0.0', description: 'Writes.' };
  const core = (): never => {
    throw new Error('nothing is called');
  };
  const capsule = servedCapsule(sdk, { about, binding: 'HTTP', spans: () => null, core }, clock);
  const sessions = new ClientSessions(capsule, clock);
  expect(await begun(sessions, 100, client('token:bob'))).toEqual({ '200': 64, '429 too_many_sessions': 36 });
  expect(sessions.size).toBe(64);
  // All of them are there, and none is in use: each gives way to a new one.
  expect(await begun(sessions, 1, client('token:bob'))).toEqual({ '200': 1 });
  expect(sessions.size).toBe(64);
  expect(await begun(sessions, 300, client('operator', true))).toEqual({ '200': 256, '429 too_many_sessions': 44 });
  expect(sessions.size).toBe(256);
  await sessions.close();
});
