import { describe, expect, it } from 'vitest';

import { Secret } from '../diagnostics/secret.ts';
import type { BoundDecision, HeaderLine } from './bound-host.ts';
import { boundHost, type HeldKey } from './bound-origin.ts';

const placeholder = 'svc-key-0123456789abcdef0123456789abcdef';
const nowMs = Date.parse('2026-11-30T12:00:00Z');
const key: HeldKey = {
  credential: 'store',
  header: 'authorization',
  scheme: 'sigv4',
  user: 'AKIAREALREALREALREAL',
  secret: new Secret('canary-secret/of+the+host'),
  placeholder,
  allowsForeign: false,
  signing: {
    region: 'eu-west-1',
    service: 's3',
    sessionToken: new Secret('canary-token-of-the-host'),
    now: () => nowMs,
  },
};
const hash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

function authorization(accessKey = placeholder, scope = '20261130/eu-west-1/s3/aws4_request'): HeaderLine {
  const value = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=host;x-amz-date, Signature=00ff`;
  return ['Authorization', value];
}

interface Asked {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly HeaderLine[];
  readonly change?: Partial<HeldKey>;
}

function decide({ method = 'GET', target = '/bucket/key', headers = [], change = {} }: Asked): BoundDecision {
  return boundHost({ origin: 'https://s3.test', rules: null, key: { ...key, ...change } }).decide({
    method,
    target,
    headers,
  });
}

/** All that goes out, of a request that is signed without its body. */
async function sent(asked: Asked): Promise<string> {
  const decision = decide(asked);
  if (decision.kind === 'refused') return `${decision.rule}: ${decision.reason}`;
  const { method = 'GET', target = '/bucket/key' } = asked;
  const whole = { method, target, headers: [['host', 's3.test'] as const, ...decision.headers] };
  const signed = (await decision.signer?.sign(whole, new Uint8Array(0))) ?? { lines: [] };
  if ('fault' in signed) return signed.fault;
  return [...whole.headers, ...signed.lines].map(([name, value]) => `${name}: ${value}`).join('\n');
}

const beyond = { ...key.signing, service: 'lambda' } as NonNullable<HeldKey['signing']>;

describe('a request with a placeholder for a key that signs', () => {
  it('goes out with the signature of the key in place of its own, and a time of svc', async () => {
    const headers = [
      authorization(),
      ['X-Amz-Date', '20200101T000000Z'],
      ['x-amz-content-sha256', hash],
      ['x-amz-meta-a', 'b'],
    ] as const;
    const said = await sent({ headers });
    expect(said.split('\n').map((line) => line.split(': ')[0])).toEqual([
      'host',
      'x-amz-content-sha256',
      'x-amz-meta-a',
      'x-amz-date',
      'x-amz-security-token',
      'authorization',
    ]);
    expect(said).toContain('x-amz-date: 20261130T120000Z\nx-amz-security-token: canary-token-of-the-host\n');
    expect(said).toContain(
      'Credential=AKIAREALREALREALREAL/20261130/eu-west-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-meta-a;x-amz-security-token, Signature=',
    );
    expect(said).not.toContain(placeholder);
    expect(said).not.toContain('canary-secret');
  });

  it('gets a signature where it has none, without a hash of its body where nothing says one', async () => {
    expect(await sent({})).toContain('x-amz-content-sha256: UNSIGNED-PAYLOAD');
    const headers = [['x-amz-content-sha256', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER']] as const;
    expect(await sent({ headers })).toContain('authorization: AWS4-HMAC-SHA256');
  });

  it('gets a signature over its whole body for a service that takes nothing in place of a hash', async () => {
    const decision = decide({ method: 'POST', target: '/x', change: { signing: beyond } });
    if (decision.kind === 'refused') throw new Error(decision.reason);
    expect(decision.signer?.needsBody).toBe(true);
    const whole = { method: 'POST', target: '/x', headers: [['host', 's3.test']] } as const;
    const sign = async (body: string): Promise<unknown> => await decision.signer?.sign(whole, Buffer.from(body));
    expect(await sign('a')).not.toEqual(await sign('b'));
    const said = decide({ headers: [['x-amz-content-sha256', hash]], change: { signing: beyond } });
    expect(said).toMatchObject({ signer: { needsBody: false } });
  });

  it.each<readonly [string, Asked, string]>([
    ['an address that is signed', { target: `/b?X-Amz-Credential=${placeholder}%2Fx&X-Amz-Signature=0` }, 'presigned'],
    [
      'another region',
      { headers: [authorization(placeholder, '20261130/us-east-1/s3/aws4_request')] },
      'eu-west-1 and',
    ],
    ['another service', { headers: [authorization(placeholder, '20261130/eu-west-1/sts/aws4_request')] }, 'and s3'],
    ['an older signature', { headers: [['authorization', `AWS ${placeholder}:c2ln`]] }, 'of another form'],
    [
      'a signature of pieces',
      { headers: [['x-amz-content-sha256', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD']] },
      'each piece',
    ],
    ['a hash that is none', { headers: [['x-amz-content-sha256', 'x']] }, 'no hash'],
    [
      'two hashes',
      {
        headers: [
          ['x-amz-content-sha256', hash],
          ['X-Amz-Content-Sha256', hash],
        ],
      },
      'no hash',
    ],
    ['a path of two readings', { target: '/b/../c' }, 'segment of dots'],
    [
      'pieces to another service',
      { headers: [['x-amz-content-sha256', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER']], change: { signing: beyond } },
      'each piece',
    ],
  ])('does not go out with %s, and hears why', async (_, asked, words) => {
    const said = await sent(asked);
    expect(said).toMatch(
      /^capabilities\.network\.allow\[\]\.credential: A request to https:\/\/s3\.test is refused: it /,
    );
    expect(said).toContain(words);
  });

  it.each<readonly [string, Asked]>([
    ['the access key of somebody else', { headers: [authorization('AKIAOTHEROTHEROTHERX')] }],
    ['the access key of the host itself', { headers: [authorization(key.user)] }],
    ['the placeholder of another subject', { headers: [authorization(`${placeholder.slice(0, -1)}0`)] }],
    ['a key beside the placeholder', { headers: [authorization(), authorization('AKIAOTHEROTHEROTHERX')] }],
    ['two signatures', { headers: [authorization(), authorization()] }],
    ['a session token', { headers: [authorization(), ['x-amz-security-token', 'of-somebody-else']] }],
    ['a signature in its address', { target: '/b?X-Amz-Credential=AKIAOTHEROTHEROTHERX%2Fx&X-Amz-Signature=0' }],
    ['the placeholder of one whom the key is not for', { headers: [authorization()], change: { placeholder: null } }],
  ])('does not go out with %s', async (_, asked) => {
    expect(await sent(asked)).toMatch(/^capabilities\.credentials\.store: .* it has a credential of its own/);
  });

  it('gets no signature for those whom the key is not for, nor beside another credential that is allowed', async () => {
    expect(await sent({ change: { placeholder: null } })).toBe('host: s3.test');
    const target = '/b?X-Amz-Credential=AKIAOTHEROTHEROTHERX%2Fx&X-Amz-Signature=0';
    expect(await sent({ target, change: { allowsForeign: true } })).toBe('host: s3.test');
  });
});

describe('an answer to a request that was signed', () => {
  it.each(['canary-secret/of+the+host', 'canary-secret\\/of+the+host', 'canary-token-of-the-host'])(
    'never reaches the one who asked with %s',
    (said) => {
      const guard = boundHost({ origin: 'https://s3.test', rules: null, key }).openGuard();
      expect(guard?.headers([['x-said', Buffer.from(said)]])).toBe(null);
      expect(said.split('').every((character) => guard?.next(Buffer.from(character)) !== null)).toBe(false);
    },
  );
});
