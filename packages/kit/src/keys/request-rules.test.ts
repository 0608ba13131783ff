import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { overridingHeader, parseRule, pathFault, permits, type RequestRule } from './request-rules.ts';

function rules(...texts: readonly string[]): readonly RequestRule[] {
  return texts.map((text) => {
    const reading = parseRule(text);
    if (reading.kind === 'malformed') throw new Error(`${text} ${reading.reason}`);
    return reading.rule;
  });
}

describe('the rules of a host', () => {
  it.each([
    ['GET /repos/acme/**', 'GET', '/repos/acme/site/issues', true],
    ['GET /repos/acme/**', 'GET', '/repos/acme/', true],
    ['GET /repos/acme/**', 'GET', '/repos/acme', false],
    ['GET /repos/acme/**', 'GET', '/repos/acmes/site', false],
    ['GET /repos/acme/**', 'POST', '/repos/acme/site', false],
    ['* /v1/*/status', 'PUT', '/v1/job/status', true],
    ['* /v1/*/status', 'PUT', '/v1//status', false],
    ['* /v1/*/status', 'PUT', '/v1/a/b/status', false],
    ['GET /v1', 'GET', '/v1?a=/../x', true],
    ['GET /v1', 'GET', '/v1/', false],
    ['GET /v1', 'get', '/v1', false],
    ['GET /**', 'GET', '/', true],
  ] as const)('%s and %s %s: %s', (rule, method, target, expected) => {
    expect(permits(rules(rule), method, target)).toBe(expected);
  });

  it.each([
    'GET',
    '/x',
    'get /x',
    'GET x',
    'GET /x?y',
    'GET /a*',
    'GET /**/x',
    'GET /a/../b',
    'GET /a%2fb',
    'GET  /x',
    '',
  ])('takes no rule %j', (text) => {
    expect(parseRule(text).kind).toBe('malformed');
  });

  it.each([
    '/a/../b',
    '/a/./b',
    '/a/..',
    '/.',
    '/a//b',
    '/a\\b',
    '/a%2fb',
    '/a%2Fb',
    '/a%5cb',
    '/%2e%2e/b',
    '/.%2e/b',
    '/a%25b',
    '/a%00b',
    '/a%0ab',
    '/a;b=1/c',
    '/a%3bc',
    '/a%3fb',
    '/a%23b',
    '/ä',
    '/a%ff',
    '/a%c0%ae',
    '/a%zz',
    '/a%',
    '/%EF%BC%8E%EF%BC%8E/b',
    '/..%20/b',
    '/%20../b',
    '/a#b',
    'a',
    '',
    '/%E2%80%A4./x',
  ])('has no reading for the path %j', (path) => {
    expect(pathFault(path)).not.toBeNull();
    expect(permits(rules('* /**'), 'GET', path)).toBe(false);
  });

  it('reads paths that have one reading', () => {
    for (const path of [
      '/',
      '/a/b.c',
      '/a/...x',
      '/%C3%A4',
      '/a%20b',
      '/a+b',
      '/@scope/x',
      '/~user',
      '/a/',
      '/v1.0/x:y',
      '/a%41',
    ])
      expect(pathFault(path)).toBeNull();
  });

  it('lets none of 10,000 hostile paths through that a lenient server reads as a place beyond the rules', () => {
    const allowed = rules('GET /repos/acme/**', 'GET /v1/*/status');
    const pieces = [
      'repos',
      'acme',
      'v1',
      'status',
      'admin',
      '..',
      '.',
      '%2e%2e',
      '%2E.',
      '.%2e',
      '%252e%252e',
      '',
      '%2f',
      '%5c',
      '\\',
      ';x',
      '%00',
      '..;',
      '%c0%ae',
      '．．',
      'x',
    ];
    const separators = ['/', '//', '\\', '%2f', '/./', '/;/'];
    const hostile = fc.array(fc.tuple(fc.constantFrom(...separators), fc.constantFrom(...pieces)), {
      minLength: 1,
      maxLength: 8,
    });
    let passed = 0;
    fc.assert(
      fc.property(hostile, (parts) => {
        const path = parts.flat().join('');
        if (!permits(allowed, 'GET', path)) return;
        passed += 1;
        for (const read of lenientReadings(path)) expect(read).toMatch(/^\/repos\/acme\/|^\/v1\/[^/]+\/status$/);
      }),
      {
        numRuns: 10_000,
        examples: [
          [
            [
              ['/', 'repos'],
              ['/', 'acme'],
              ['/', 'x'],
            ],
          ],
        ],
      },
    );
    expect(passed).toBeGreaterThan(0);
  });

  it('finds headers that ask for another request', () => {
    expect(overridingHeader(['accept', 'X-HTTP-Method-Override'])).toBe('X-HTTP-Method-Override');
    expect(overridingHeader(['x_original_url'])).toBe('x_original_url');
    // What is copied or moved, and where to.
    for (const name of ['x-amz-copy-source', 'X-Amz-Rename-Source', 'x-goog-copy-source', 'Destination'])
      expect(overridingHeader(['accept', name])).toBe(name);
    expect(overridingHeader(['x-amz-copy-source-range', 'x-amz-meta-copy-source-of'])).toBeNull();
    expect(overridingHeader(['accept', 'x-forwarded-for'])).toBeNull();
  });
});

/** As servers read a path that decode it once or twice, take backslashes for slashes, cut parameters off, and go up for dots. */
function lenientReadings(path: string): readonly string[] {
  const decode = (text: string): string =>
    text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const texts = [path, decode(path), decode(decode(path))].flatMap((text) => [text, text.normalize('NFKC')]);
  return texts
    .flatMap((text) => [text, text.replaceAll('\\', '/'), text.replaceAll(/;[^/]*/g, '')])
    .map((text) => {
      const segments: string[] = [];
      for (const segment of text.split('\0', 1)[0]?.split('/').slice(1) ?? []) {
        if (segment === '..') segments.pop();
        else if (segment !== '.' && segment !== '') segments.push(segment);
      }
      return `/${segments.join('/')}${text.endsWith('/') && segments.length > 0 ? '/' : ''}`;
    });
}
