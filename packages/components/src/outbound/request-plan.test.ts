import { describe, expect, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { RequestBodyStart, RequestHead } from './remote-messages.ts';
import { type HttpGrants, planRequest, type RequestDecision } from './request-plan.ts';

const head: RequestHead = {
  method: 'GET',
  scheme: 'https',
  authority: 'api.test',
  pathWithQuery: '/v1/x?y=1',
  headers: [],
  connectTimeoutMs: null,
  firstByteTimeoutMs: null,
  betweenBytesTimeoutMs: null,
};
const noBody: RequestBodyStart = { bytes: new Uint8Array(0), finished: true };
const all: HttpGrants = { mayReach: () => true };

function plan(change: Partial<RequestHead>, grants = all, body = noBody): RequestDecision {
  return planRequest({ ...head, ...change }, body, grants);
}

function refusal(decision: RequestDecision): string {
  return decision.kind === 'refused' ? decision.error.tag : 'permitted';
}

describe('the plan of a request', () => {
  it('shows the grants the address that is connected to', () => {
    const asked: string[] = [];
    const grants = { mayReach: (url: URL) => asked.push(url.href) > 0 };
    plan({ authority: 'API.test:443' }, grants);
    plan({ authority: '0x7f.1', scheme: 'http' }, grants);
    plan({ authority: '[::1]:8080', scheme: 'http', pathWithQuery: '' }, grants);
    expect(asked).toEqual(['https://api.test/v1/x?y=1', 'http://127.0.0.1/v1/x?y=1', 'http://[::1]:8080/']);
  });

  it.each([
    'user@api.test',
    'user:password@api.test',
    'api.test/other',
    'api.test?q',
    'api.test#f',
    'api.test\\@evil.test',
    'api.test evil.test',
    'api.test\r\nhost: evil.test',
    'api.test:99999',
    'api.test:',
    '',
    '[::1',
    'ａpi.test',
  ])('refuses the authority %j', (authority) => {
    expect(refusal(plan({ authority }))).toBe('HTTP-request-URI-invalid');
  });

  it.each(['no-slash', '/a b', '/a\r\nhost: x', '/a#b', '/ü', '//\0'])('refuses the path %j', (pathWithQuery) => {
    expect(refusal(plan({ pathWithQuery }))).toBe('HTTP-request-URI-invalid');
  });

  it('refuses a path that is too long', () => {
    expect(refusal(plan({ pathWithQuery: `/${'x'.repeat(70_000)}` }))).toBe('HTTP-request-URI-too-long');
  });

  it.each(['CONNECT', 'connect', 'TRACE', '', 'GET /', 'G\nET'])('refuses the method %j', (method) => {
    expect(refusal(plan({ method }))).toBe('HTTP-request-method-invalid');
  });

  it.each(['ftp', 'file', 'ws', ''])('refuses the scheme %j', (scheme) => {
    expect(refusal(plan({ scheme }))).toBe('HTTP-request-URI-invalid');
  });

  it('names the host and one length', () => {
    const headers = [['x', Buffer.from('é', 'latin1')]] as const;
    const decision = plan({ method: 'POST', headers }, all, { bytes: Buffer.from('12345'), finished: true });
    expect(decision).toMatchObject({
      kind: 'permitted',
      headers: [
        ['host', 'api.test'],
        ['x', 'é'],
        ['content-length', '5'],
      ],
      contentLength: 5,
    });
  });

  it.each([[['5', '5']], [['5 ']], [['+5']], [['0x5']], [['6']], [['1'.repeat(20)]]])(
    'refuses the lengths %j for a body of five bytes',
    (lengths) => {
      const headers = lengths.map((length) => ['Content-Length', Buffer.from(length)] as const);
      const decision = plan({ method: 'POST', headers }, all, { bytes: Buffer.from('12345'), finished: true });
      expect(refusal(decision)).toBe('HTTP-request-body-size');
    },
  );

  it('refuses headers that are too large or not headers', () => {
    const header = (name: string, value: string): Partial<RequestHead> => ({ headers: [[name, Buffer.from(value)]] });
    expect(refusal(plan(header('x', 'y'.repeat(300_000))))).toBe('HTTP-request-header-section-size');
    expect(refusal(plan(header('x', 'a\nb')))).toBe('HTTP-protocol-error');
    expect(refusal(plan(header('a b', 'c')))).toBe('HTTP-protocol-error');
    expect(refusal(plan(header('Transfer-Encoding', 'chunked')))).toBe('HTTP-protocol-error');
  });

  it('takes an origin as a whole: another scheme or port is another origin', () => {
    const credential = { origin: 'https://api.test', placeholder: 'PLACE', secret: new Secret('key') };
    const headers = [['authorization', Buffer.from('Bearer PLACE')]] as const;
    const grants = { ...all, credential };
    expect(plan({ headers }, grants)).toMatchObject({
      headers: [
        ['host', 'api.test'],
        ['authorization', 'Bearer key'],
        ['accept-encoding', 'identity'],
      ],
    });
    for (const change of [{ scheme: 'http' }, { authority: 'api.test:8443' }, { authority: 'api.test.evil.test' }]) {
      expect(refusal(plan({ headers, ...change }, grants))).toBe('HTTP-request-denied');
    }
  });

  it('takes dollar signs of a secret as they are, and refuses a secret that ends the header', () => {
    const headers = [['authorization', Buffer.from('PLACE')]] as const;
    const keyed = (key: string): RequestDecision =>
      plan(
        { headers },
        { ...all, credential: { origin: 'https://api.test', placeholder: 'PLACE', secret: new Secret(key) } },
      );
    expect(keyed("$&$'")).toMatchObject({
      headers: [
        ['host', 'api.test'],
        ['authorization', "$&$'"],
        ['accept-encoding', 'identity'],
      ],
    });
    expect(refusal(keyed('a\r\nb: c'))).toBe('HTTP-request-denied');
  });
});
