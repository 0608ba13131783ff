import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { describe, expect, it, onTestFinished } from 'vitest';

import { AuthorizationServer } from '../../../../../../test/support/authorization-server.ts';
import { RefreshedKey, type RefreshedKeySettings } from './refreshed-key.ts';

interface Started {
  readonly issuer: AuthorizationServer;
  readonly key: RefreshedKey;
  readonly known: string[];
  readonly warned: Diagnostic[];
  readonly clock: { nowMs: number };
  /** The refresh token of the manifest. */
  readonly refreshToken: string;
}

async function started(change: Partial<RefreshedKeySettings> = {}): Promise<Started> {
  const issuer = await AuthorizationServer.start();
  onTestFinished(() => issuer.close());
  const refreshToken = issuer.refreshToken();
  const known: string[] = [];
  const warned: Diagnostic[] = [];
  const clock = { nowMs: 0 };
  const key = new RefreshedKey({
    credential: 'crm',
    endpoint: new URL(`${issuer.issuer}/token`),
    clientId: 'client',
    clientSecret: null,
    refreshToken: new Secret(refreshToken),
    proxyFor: null,
    now: () => clock.nowMs,
    onSecret: (secret) => known.push(secret.reveal()),
    onEnded: (secret) => known.splice(known.indexOf(secret.reveal()), 1),
    onReplaced: (warning) => warned.push(warning),
    ...change,
  });
  return { issuer, key, known, warned, clock, refreshToken };
}

async function tokenOf(key: RefreshedKey): Promise<string> {
  const given = await key.current();
  return 'token' in given ? given.token : given.fault;
}

describe('a key that is renewed', () => {
  it('gives 20 requests at once the token of one renewal, and asks again only as its time ends', async () => {
    const { issuer, key, clock } = await started();
    const first = await Promise.all(Array.from({ length: 20 }, () => tokenOf(key)));
    expect(issuer.refreshes).toBe(1);
    expect(new Set(first).size).toBe(1);
    expect(issuer.isKnown(first[0] ?? '')).toBe(true);
    clock.nowMs = 3_600_000 - 31_000;
    expect(await tokenOf(key)).toBe(first[0]);
    clock.nowMs = 3_600_000 - 29_000;
    expect(await tokenOf(key)).not.toBe(first[0]);
    expect(issuer.refreshes).toBe(2);
  });

  it('holds five minutes where nobody says how long', async () => {
    const { issuer, key, clock } = await started();
    issuer.rules.expiresIn = null;
    const first = await tokenOf(key);
    clock.nowMs = 299_999;
    expect(await tokenOf(key)).toBe(first);
    clock.nowMs = 300_000;
    expect(await tokenOf(key)).not.toBe(first);
  });

  it('goes on with a refresh token that replaces its own, and says once that this one ends with the session', async () => {
    const { issuer, key, clock, known, warned, refreshToken } = await started();
    const first = await tokenOf(key);
    clock.nowMs = 3_600_000;
    const second = await tokenOf(key);
    expect([issuer.refreshes, issuer.reused]).toEqual([2, 0]);
    expect(issuer.tokenRequests.map(({ refresh_token: token }) => token === refreshToken)).toEqual([true, false]);
    expect(warned.map(({ code, message }) => `${code} ${message}`)).toEqual([
      `W-CAP-033 ${new URL(issuer.issuer).host} gave another refresh token for the credential crm, which is gone with this session`,
    ]);
    // Whatever was given is looked for in answers, and no record holds it.
    expect(known).toEqual([first, issuer.tokenRequests[1]?.['refresh_token'], second, expect.any(String)]);
    expect(key.secrets()).toEqual(expect.arrayContaining(known));
  });

  it('has answers searched for a refresh token that replaced its own long ago, and forgets tokens that ended', async () => {
    const { issuer, key, clock, known } = await started();
    const next = 'refresh-of-the-session';
    let count = 0;
    issuer.rules.instead = (_, response) => {
      count += 1;
      const more = count === 1 ? { refresh_token: next } : {};
      const given = { access_token: `access-token-${count}`, token_type: 'Bearer', expires_in: 60, ...more };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(given));
      return true;
    };
    for (let times = 0; times < 100; times += 1) {
      clock.nowMs += 3_600_000;
      await tokenOf(key);
    }
    expect(count).toBe(100);
    expect(key.secrets()).toContain(next);
    expect(key.secrets()).toHaveLength(6);
    expect(known).toHaveLength(50);
    expect(known).toEqual(expect.arrayContaining(['access-token-100', next]));
  });

  it('shows the server its client, with the secret of that as a form encodes it', async () => {
    const { issuer, key } = await started({ clientSecret: new Secret('canary client+secret%') });
    let shown = '';
    issuer.rules.instead = ({ headers }) => {
      shown = headers.authorization ?? '';
      return false;
    };
    await tokenOf(key);
    const asked = Buffer.from(shown.replace('Basic ', ''), 'base64').toString();
    expect(asked).toBe('client:canary+client%2Bsecret%25');
    expect(key.secrets()).toContain('canary client+secret%');
  });

  it('names a refusal without its secrets, and asks no more', async () => {
    const { issuer, key, clock, refreshToken } = await started({ clientSecret: new Secret('canary-client-secret') });
    issuer.rules.instead = (_, response) => {
      const said = { error: 'invalid_grant', error_description: `no ${refreshToken} of canary-client-secret` };
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(said));
      return true;
    };
    const fault = `has no key: that of the credential crm could not be renewed: ${new URL(issuer.issuer).host} refuses to renew it (invalid_grant)`;
    expect(await Promise.all([tokenOf(key), tokenOf(key)])).toEqual([fault, fault]);
    clock.nowMs = 1e12;
    issuer.rules.instead = () => false;
    expect(await tokenOf(key)).toBe(fault);
    expect(issuer.refreshes).toBe(0);
  });

  it('rests for five seconds after a failure that may pass', async () => {
    const { issuer, key, clock } = await started();
    let asked = 0;
    issuer.rules.instead = (_, response) => {
      asked += 1;
      response.socket?.destroy();
      return true;
    };
    expect(await tokenOf(key)).toContain('could not be renewed: ');
    issuer.rules.instead = () => false;
    clock.nowMs = 4_999;
    expect(await tokenOf(key)).toContain('could not be renewed: ');
    clock.nowMs = 5_000;
    expect(issuer.isKnown(await tokenOf(key))).toBe(true);
    expect(asked).toBe(1);
  });

  it.each<readonly [string, string, number, string]>([
    ['no JSON', '<html>', 200, 'gives no token'],
    ['no token', '{}', 200, 'gives no token'],
    ['a short token', '{"access_token":"short","token_type":"Bearer"}', 200, 'fewer than 8'],
    ['a token of another type', '{"access_token":"0123456789","token_type":"mac"}', 200, 'not Bearer'],
    [
      'a token that no header takes',
      '{"access_token":"012345\\n6789","token_type":"Bearer"}',
      200,
      'no request can show',
    ],
    ['too much', ' '.repeat(300_000), 200, 'more than 256 KiB'],
    ['a fault', 'x', 500, 'refuses to renew it (server_error)'],
  ])('takes %s for no token', async (_, body, status, words) => {
    const { issuer, key } = await started();
    issuer.rules.instead = (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      return true;
    };
    const said = await tokenOf(key);
    expect(said).toMatch(/^has no key: that of the credential crm could not be renewed: /);
    expect(said).toContain(words);
  });

  it('follows its endpoint nowhere else', async () => {
    const { issuer, key } = await started();
    issuer.rules.instead = (_, response) => {
      response.writeHead(307, { location: 'http://127.0.0.2:1/token' }).end();
      return true;
    };
    expect(await tokenOf(key)).toContain('sends the client on to http://127.0.0.2:1/token, where nothing was sent');
    const inside = { endpoint: new URL('https://localhost.svc-test.invalid/token') };
    expect(await tokenOf((await started(inside)).key)).toContain('could not be asked');
  });
});
