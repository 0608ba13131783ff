import { describe, expect, it } from 'vitest';

import { Secret } from '../diagnostics/secret.ts';
import type { AccessToken, AccessTokens, BoundHost, HeaderLine } from './bound-host.ts';
import { boundHost, type BoundOrigin, type HeldKey } from './bound-origin.ts';

const placeholder = 'ghp_0123456789abcdef0123456789abcdef';
const key: HeldKey = {
  credential: 'github',
  header: 'authorization',
  scheme: 'bearer',
  user: '',
  secret: new Secret('real-key-of-the-host'),
  placeholder,
  allowsForeign: false,
};
const bound: BoundOrigin = { origin: 'https://api.test', rules: null, key };

function decide(headers: readonly HeaderLine[], target = '/x', change: Partial<HeldKey> = {}): string {
  const decision = boundHost({ ...bound, key: { ...key, ...change } }).decide({ method: 'GET', target, headers });
  if (decision.kind === 'refused') return `${decision.rule}: ${decision.reason}`;
  return decision.headers.map(([name, value]) => `${name}: ${value}`).join('\n');
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

describe('a request to a host with a credential', () => {
  it.each([
    ['nothing', []],
    ['the placeholder', [['Authorization', placeholder]]],
    ['the placeholder as a bearer', [['authorization', `Bearer ${placeholder}`]]],
    ['the placeholder as GitHub takes it', [['authorization', `token ${placeholder}`]]],
    ['the placeholder as a password', [['authorization', basic(`x-access-token:${placeholder}`)]]],
    ['the placeholder as a user', [['authorization', basic(`${placeholder}:`)]]],
  ] as const)('gets the key where it has %s', (_, headers) => {
    expect(decide([['accept', '*/*'], ...headers])).toBe('accept: */*\nauthorization: Bearer real-key-of-the-host');
  });

  it('gets the key in the form of its credential', () => {
    expect(decide([], '/x', { scheme: 'basic', user: 'x-access-token' })).toBe(
      `authorization: ${basic('x-access-token:real-key-of-the-host')}`,
    );
    expect(decide([['X-Api-Key', placeholder]], '/x', { scheme: 'raw', header: 'x-api-key' })).toBe(
      'x-api-key: real-key-of-the-host',
    );
  });

  it('has neither the key nor what stood for it where a person reads it', () => {
    const headers = [
      ['accept', '*/*'],
      ['X-Weird', placeholder],
    ] as const;
    const decision = boundHost({ ...bound, key: { ...key, scheme: 'raw', header: 'x-weird' } }).decide({
      method: 'GET',
      target: '/x',
      headers,
    });
    expect(decision).toMatchObject({ keyed: true, unkeyed: [['accept', '*/*']] });
  });

  it('keeps the placeholder as it is everywhere else', () => {
    expect(decide([['x-note', placeholder]], `/x?note=${placeholder}`)).toContain(`x-note: ${placeholder}\n`);
  });

  it.each([
    ['another value in the header', [['authorization', 'Bearer of-somebody-else']]],
    [
      'another value beside the placeholder',
      [
        ['authorization', `Bearer ${placeholder}`],
        ['authorization', 'Bearer x'],
      ],
    ],
    [
      'two placeholders',
      [
        ['authorization', `Bearer ${placeholder}`],
        ['authorization', `Bearer ${placeholder}`],
      ],
    ],
    ['a password of somebody else', [['authorization', basic('user:of-somebody-else')]]],
    ['the header with an underscore', [['AUTHORIZATION', 'Bearer of-somebody-else']]],
    ['a cookie', [['cookie', 'session=of-somebody-else']]],
    ['a header named like a key', [['x-api-key', 'of-somebody-else']]],
    ['the same with an underscore', [['x_api_key', 'of-somebody-else']]],
    ['a token of GitLab', [['private-token', 'of-somebody-else']]],
    ['a signature', [['authorization', 'AWS4-HMAC-SHA256 Credential=AKIA0123456789ABCDEF/x']]],
    ['an access key elsewhere', [['x-note', 'AKIA0123456789ABCDEF']]],
  ] as const)('does not go out with %s', (_, headers) => {
    const said = decide(headers);
    expect(said).toMatch(/^capabilities\.credentials\.github: A request to https:\/\/api\.test is refused/);
    expect(said).not.toContain('of-somebody-else');
  });

  it.each([
    'key=x',
    'api_key=x',
    'apiKey=x',
    'access_token=x',
    'accessToken=x',
    'private_token=x',
    'token',
    'a=1&token=x',
    'a=1;token=x',
    'to%6ben=x',
    'auth[token]=x',
    'password=x',
    'client_secret=x',
    'sig=x',
    'X-Amz-Signature=x',
    'X-Amz-Credential=x',
    'AWSAccessKeyId=x',
    'q=AKIA0123456789ABCDEF',
    'jwt=x',
    'sid=x',
    'subscription-key=x',
  ])('does not go out with the query %s', (query) => {
    expect(decide([], `/x?${query}`)).toMatch(/^capabilities\.credentials\.github: /);
  });

  it.each(['page_token=x', 'nextToken=x', 'q=token', 'sort_key=x', 'keyword=x', 'author=x', 'monkey=x', 'per_page=2'])(
    'goes out with the query %s',
    (query) => {
      expect(decide([], `/x?${query}`)).toBe('authorization: Bearer real-key-of-the-host');
    },
  );

  it('never gets the key for somebody whom it is not for, whatever placeholder is shown', () => {
    expect(decide([], '/x', { placeholder: null })).toBe('');
    expect(decide([['authorization', `Bearer ${placeholder}`]], '/x', { placeholder: null })).toMatch(
      /^capabilities\.cred/,
    );
    expect(decide([['authorization', `Bearer ${placeholder.slice(0, -1)}0`]])).toMatch(/^capabilities\.cred/);
  });

  it('has another credential where that is allowed, and the key not beside it', () => {
    const other = [['authorization', 'Bearer of-somebody-else']] as const;
    expect(decide(other, '/x?token=y', { allowsForeign: true })).toBe('authorization: Bearer of-somebody-else');
  });

  it('keeps to the rules before anything else', () => {
    const held = boundHost({ ...bound, rules: [{ method: 'GET', path: '/repos/**' }] });
    expect(held.decide({ method: 'GET', target: '/admin', headers: [] })).toMatchObject({
      kind: 'refused',
      rule: 'capabilities.network.allow[].rules',
    });
    const headers = [['x-http-method-override', 'DELETE']] as const;
    expect(held.decide({ method: 'GET', target: '/repos/x', headers }).kind).toBe('refused');
  });
});

describe('a request to a host whose key is renewed', () => {
  const tokens = (current: AccessToken): AccessTokens => ({
    current: () => Promise.resolve(current),
    secrets: () => ('token' in current ? [current.token] : []),
  });
  const renewed = (current: AccessToken, change: Partial<HeldKey> = {}): BoundHost =>
    boundHost({ ...bound, key: { ...key, scheme: 'oauth2', tokens: tokens(current), ...change } });

  it('gets the access token of now and never the key itself, or no token and the reason', async () => {
    const headers = [['authorization', `Bearer ${placeholder}`]] as const;
    const asked = { method: 'GET', target: '/x', headers };
    const added = async (host: BoundHost): Promise<unknown> => {
      const decision = host.decide(asked);
      if (decision.kind === 'refused') return decision.rule;
      expect(decision.headers).toEqual([]);
      return await decision.signer?.sign(asked, new Uint8Array(0));
    };
    expect(await added(renewed({ token: 'token-of-now' }))).toEqual({
      lines: [['authorization', 'Bearer token-of-now']],
    });
    expect(await added(renewed({ fault: 'has no key' }))).toEqual({ fault: 'has no key' });
    expect(await added(renewed({ token: 'token-of-now' }, { placeholder: null }))).toBe(
      'capabilities.credentials.github',
    );
  });

  it('has an answer cut that shows the access token or the key', () => {
    for (const said of ['token-of-now', 'real-key-of-the-host'])
      expect(renewed({ token: 'token-of-now' }).openGuard()?.next(Buffer.from(said))).toBeNull();
  });
});

describe('an answer of such a host', () => {
  const lines = (value: string): readonly (readonly [string, Buffer])[] => [['x-said', Buffer.from(value)]];

  it('gives no cookie out, and no header with the key in it', () => {
    const guard = boundHost(bound).openGuard();
    expect(guard?.headers([['set-cookie', Buffer.from('a=b')], ...lines('fine')])).toEqual(lines('fine'));
    expect(guard?.headers(lines('https://else.test/?k=real-key-of-the-host'))).toBeNull();
    expect(guard?.headers([['real-key-of-the-host', Buffer.from('x')]])).toBeNull();
  });
});
