import { describe, expect, it } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { RefereeClient } from '@svc/client/referee-client.ts';
import { FakeCapsule } from './fake-capsule.ts';

const quick = { reconnectMs: 1, callMs: 2000, idleMs: 2000, mostReconnects: 3 };

describe('a header', () => {
  const secret = 'TOP\nSECRET';
  const worker = { name: 'worker', version: '1.0.0' };

  it.each([
    [
      'an approval',
      'x-svc-spawn-approval',
      (url: string) =>
        new RefereeClient({ url, limits: quick }).register({ sessionId: 'ses_1', ...worker }, { approval: secret }),
    ],
    [
      'a credential',
      'x-svc-spawn-credential',
      (url: string) => new RefereeClient({ url, limits: quick }).spawn(worker, { credential: secret }),
    ],
    [
      'an audience',
      'x-svc-audience',
      (url: string) => new CapsuleClient({ url, limits: quick }).sharedFile('mh1.a.b', secret),
    ],
    [
      'a tag of a message',
      'idempotency-key',
      (url: string) => new CapsuleClient({ url, limits: quick }).send('a', { idempotencyKey: secret }),
    ],
  ])('that cannot hold %s is not sent, and no error repeats it', async (_what, name, ask) => {
    const asked: string[] = [];
    const capsule = await FakeCapsule.open({ other: ({ url = '' }, response) => response.end(asked.push(url)) });
    const message = `the header ${name} for http://${capsule.url} was to hold what no header can, such as a line break`;
    await expect(ask(capsule.url)).rejects.toMatchObject({ name: 'ClientError', code: 'bad-header', message });
    expect(asked).toEqual([]);
    expect(capsule.calls).toEqual([]);
  });
});
