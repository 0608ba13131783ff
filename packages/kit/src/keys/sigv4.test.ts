import { describe, expect, it } from 'vitest';

import { Secret } from '../diagnostics/secret.ts';
import { sha256Hex } from '../sha256.ts';
import type { HeaderLine } from './bound-host.ts';
import { ambiguity, signatureOf, type SigningKey } from './sigv4.ts';

/** The key and the moment of the test vectors that Amazon publishes with its signing library. */
const key: SigningKey = {
  accessKeyId: 'AKIDEXAMPLE',
  secret: new Secret('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'),
  sessionToken: null,
  region: 'us-east-1',
  service: 'service',
};
const nowMs = Date.parse('2015-08-30T12:36:00Z');
const host = ['Host', 'example.amazonaws.com'] as const;
const token = new Secret('6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267');
const letters = '-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

interface SignedOptions extends Partial<SigningKey> {
  readonly headers?: readonly HeaderLine[];
  readonly nowAt?: number;
}

/** The names of the headers that are signed, and the signature. */
function signed(
  method: string,
  target: string,
  { headers = [host], nowAt = nowMs, ...change }: SignedOptions = {},
): string {
  const lines = signatureOf(
    { ...key, ...change },
    { method, target, headers },
    { payload: sha256Hex(''), nowMs: nowAt },
  );
  return /SignedHeaders=(.*)$/.exec(lines.at(-1)?.[1] ?? '')?.[1] ?? '';
}

describe('a signature', () => {
  it.each([
    ['GET', '/', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['POST', '/', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
    ['GET', '/?Param1=value1', 'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb'],
    ['GET', '/?Param2=value2&Param1=value1', 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500'],
    [
      'GET',
      '/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1',
      '371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac',
    ],
    ['GET', '/?%E1%88%B4=bar', '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04'],
    ['GET', `/?${letters}=${letters}`, '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197'],
  ])('equals the published one of %s %s', (method, target, expected) => {
    expect(signed(method, target)).toBe(`host;x-amz-date, Signature=${expected}`);
  });

  it('has a session token in it', () => {
    expect(signed('GET', '/', { sessionToken: token })).toBe(
      'host;x-amz-date;x-amz-security-token, Signature=07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8',
    );
  });

  it('equals the published ones of lists and settings of S3', () => {
    const s3 = {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secret: new Secret('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'),
      service: 's3',
      nowAt: Date.parse('2013-05-24T00:00:00Z'),
      headers: [['Host', 'examplebucket.s3.amazonaws.com']] as const,
    };
    expect(signed('GET', '/?lifecycle', s3)).toBe(
      'host;x-amz-content-sha256;x-amz-date, Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    );
    expect(signed('GET', '/?max-keys=2&prefix=J', s3)).toBe(
      'host;x-amz-content-sha256;x-amz-date, Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    );
  });

  it('covers host, the type and each header of Amazon, and none that a proxy may change', () => {
    const headers = [
      host,
      ['Content-Type', 'text/plain'],
      ['X-Amz-Meta-A', ' one   two '],
      ['x-amz-meta-a', 'three'],
      ['If-None-Match', '*'],
      ['Accept-Encoding', 'identity'],
      ['User-Agent', 'x'],
    ] as const;
    expect(signed('PUT', '/', { headers })).toMatch(/^content-type;host;if-none-match;x-amz-date;x-amz-meta-a, /);
    expect(signed('PUT', '/', { headers })).toBe(
      signed('PUT', '/', {
        headers: [['if-none-match', '*'], ['x-amz-meta-a', 'one two,three'], host, ['content-type', 'text/plain']],
      }),
    );
  });

  it('takes blanks and tabs alone out of the ends of a value, whatever its last byte is', () => {
    const of = (value: string): string => signed('PUT', '/', { headers: [host, ['x-amz-meta-a', value]] });
    const utf8 = Buffer.from('voil\u{e0}').toString('latin1');
    expect(utf8.endsWith('\u{a0}')).toBe(true);
    expect(of(utf8)).not.toBe(of(utf8.slice(0, -1)));
    expect(of(` \t${utf8}\t `)).toBe(of(utf8));
    expect(of('one \t two')).toBe(of('one two'));
  });
});

describe('a signed path', () => {
  it('counts as it is decoded once where it names an object, and never normalized', () => {
    const at = (target: string, service = 's3'): string => signed('GET', target, { service });
    expect(at('/b/a(b)')).toBe(at('/b/a%28b%29'));
    expect(at('/b/%61')).toBe(at('/b/a'));
    expect(at('/b//a')).not.toBe(at('/b/a'));
    expect(at('/b/a%2528')).not.toBe(at('/b/a%28'));
    expect(at('/b/%61', 'lambda')).not.toBe(at('/b/a', 'lambda'));
  });

  it.each([
    ['s3', '/b/a/../c', 'has a segment of dots'],
    ['s3', '/b/%2e%2e/c', 'has a segment of dots'],
    ['s3', '/b/a+b', 'has a + in its path'],
    ['s3', '/b/a%2fb', 'has an encoded /'],
    ['s3', '/b/%ff', 'none of UTF-8'],
    ['s3', '/b/%zz', 'none of UTF-8'],
    ['s3', '/b?prefix=%ff', 'none of UTF-8'],
    ['lambda', '/a//b', 'has an empty segment'],
    ['lambda', '/a/./b', 'has a segment of dots'],
  ])('gets no signature where %s may read it in two ways: %s', (service, target, words) => {
    expect(ambiguity(service, target)).toContain(words);
  });

  it.each([
    ['s3', '/b//a%20b/...?prefix=a+b&uploads'],
    ['lambda', '/functions/arn%3Aaws%2Fx'],
    ['s3', '//key'],
  ])('gets a signature where %s reads it in one way alone: %s', (service, target) => {
    expect(ambiguity(service, target)).toBe(null);
  });
});
