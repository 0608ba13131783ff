import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { approachCapsule, type LocatedCapsule } from './approach-capsule.ts';

const sessionId = `ses_${'0'.repeat(32)}`;

/** A session of this user that answers with this card; what it is asked. */
async function sessionWith(
  serves: unknown,
  answering = sessionId,
): Promise<{ located: LocatedCapsule; asked: string[] }> {
  const asked: string[] = [];
  const card = { name: 'demo', version: '1.0.0', url: 'localhost:1', session_id: answering, serves };
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(card));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const record = { session_id: sessionId } as NonNullable<LocatedCapsule['record']>;
  return { located: { address, record, named: 'session' }, asked };
}

const choice = { token: 'a-token', isSentAnywhere: false, timeoutMs: 10_000 };

describe('a card that says what is served', () => {
  it('keeps a command from asking for anything else', async () => {
    const { located, asked } = await sessionWith({ methods: ['tasks/get', 'stream/watch'], planes: [] });
    await expect(approachCapsule(located, { ...choice, method: 'session/stop' })).rejects.toMatchObject({
      code: 'E-RUN-057',
      message: `the capsule at ${located.address} does not serve session/stop, as its card says`,
    });
    expect(asked).toEqual(['GET /.well-known/agent-card.json']);
    expect(await approachCapsule(located, { ...choice, method: 'stream/watch' })).toMatchObject({ token: 'a-token' });
  });

  it.each([undefined, null, 'all', { methods: 'all' }])(
    'counts only where the card has it: with %j in the card, the answer says it',
    async (serves) => {
      const { located } = await sessionWith(serves);
      expect(await approachCapsule(located, { ...choice, method: 'session/stop' })).toMatchObject({ token: 'a-token' });
    },
  );
});

it('a card of another session is repeated in part only', async () => {
  const { located } = await sessionWith(undefined, 's'.repeat(5000));
  await expect(approachCapsule(located, { ...choice, method: 'session/stop' })).rejects.toMatchObject({
    code: 'E-IO-004',
    message: `${located.address} is used by session ${'s'.repeat(100)}\u2026, not by ${sessionId}; nothing was sent`,
  });
});
