import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Approvals } from '@svc/artifacts/manifest/approvals.ts';
import { boundHost } from '@svc/kit/keys/bound-origin.ts';
import { inProcessorTime } from '../../../../test/support/processor-time.ts';
import { RequestRules } from './request-rules.ts';

const origin = 'https://api.test';
type Rules = Approvals['rules'];

/** `proceed`, or the verdict on a request and the rule that gave it. */
function decided(rules: Rules, request: string, otherwise: Approvals['default'] = 'allow'): string {
  const rulings = new RequestRules({ rules, default: otherwise }).of(origin);
  const [method = '', target = ''] = request.split(' ', 2);
  const ruling = rulings?.({ method, target }) ?? null;
  return ruling === null ? 'proceed' : `${ruling.verdict} ${ruling.rule.replace('approvals.', '')}`;
}

const ask: Rules = [{ ask: { request: `POST ${origin}/repos/*/pulls` } }];

describe('rules of requests', () => {
  it('decide about the hosts that they name alone', () => {
    const rules = new RequestRules({ rules: ask, default: 'deny' });
    expect([rules.of('https://other.test'), rules.of('http://api.test')]).toEqual([null, null]);
    expect(rules.of(origin)).not.toBeNull();
  });

  it.each([
    ['POST /repos/a/pulls', 'ask rules[0]'],
    ['POST /repos/a/pulls?draft=1', 'ask rules[0]'],
    ['post /repos/a/pulls', 'ask rules[0]'],
    ['POST /repos/a/pulls/', 'ask rules[0]'],
    ['POST /REPOS/a/Pulls', 'ask rules[0]'],
    ['POST /%72epos/a/pulls', 'ask rules[0]'],
    ['POST /repos/a/pull\u200bs', 'ask rules[0]'],
    ['POST /repos/a/pulls.', 'ask rules[0]'],
    ['POST /repos./a/pulls%20', 'ask rules[0]'],
    ['POST /repos%C2%A0./a/pulls.%20/', 'ask rules[0]'],
    ['GET /repos/a/pulls', 'proceed'],
    ['POST /repos/a/b/pulls', 'proceed'],
    ['POST /repos/a', 'proceed'],
  ])('hold a rule that asks against %s, in whatever spelling', (request, expected) => {
    expect(decided(ask, request.replace('\u200b', '%E2%80%8B'))).toBe(expected);
  });

  it.each([
    ['GET /repos/a', 'proceed'],
    ['GET /repos/a?x=1', 'proceed'],
    ['get /repos/a', 'ask default'],
    ['HEAD /repos/a', 'ask default'],
    ['GET /repos/a/', 'ask default'],
    ['GET /Repos/a', 'ask default'],
    ['GET /%72epos/a', 'ask default'],
    ['GET /repos./a', 'ask default'],
  ])('hold a rule that allows against %s as it is', (request, expected) => {
    expect(decided([{ allow: { request: `GET ${origin}/repos/*` } }], request, 'ask')).toBe(expected);
  });

  it('have the strictest of all that match decide, and the default where none does', () => {
    const rules: Rules = [
      { allow: { request: `* ${origin}/**` } },
      { ask: { request: `* ${origin}/repos/**` } },
      { deny: { request: `DELETE ${origin}/**` } },
    ];
    expect(decided(rules, 'GET /x', 'deny')).toBe('proceed');
    expect(decided(rules, 'GET /repos', 'deny')).toBe('ask rules[1]');
    expect(decided(rules, 'DELETE /repos/a', 'deny')).toBe('deny rules[2]');
    expect(decided(ask, 'GET /x', 'deny')).toBe('deny default');
    expect(decided([{ deny: { request: `GET ${origin}/x` } }], 'HEAD /x')).toBe('deny rules[0]');
  });

  it('decide about a path of many dots in a moment', () => {
    const { value, ms } = inProcessorTime(() => decided(ask, `POST /repos/a${'.'.repeat(160_000)}a/pulls`));
    expect(value).toBe('ask rules[0]');
    expect(ms).toBeLessThan(1000);
  });

  it('let no spelling of a denied path through, out of 10,000', () => {
    const rules: Rules = [{ allow: { request: `* ${origin}/**` } }, { deny: { request: `* ${origin}/admin/keys/**` } }];
    const rulings = new RequestRules({ rules, default: 'allow' }).of(origin);
    const host = boundHost({ origin, rules: null, key: null, ...(rulings === null ? {} : { rulings }) });
    const encoded = (text: string): string => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&');
    const spelt = (text: string): fc.Arbitrary<string> =>
      fc
        .tuple(
          ...text.split('').map((each) => fc.constantFrom(each, each.toUpperCase(), encoded(each), `%E2%80%8B${each}`)),
          fc.constantFrom('', '', '.', '%20', '.%20.', '%C2%A0'),
        )
        .map((letters) => letters.join(''));
    const between = fc.constantFrom(
      '/',
      '//',
      '/./',
      '/x/../',
      '%2f',
      '\\',
      ';/',
      '/%2e/',
      '/',
      '/%E2%80%8B/',
      '/%E2%80%8B./',
    );
    const path = fc.tuple(
      between,
      spelt('admin'),
      between,
      spelt('keys'),
      fc.constantFrom('', '/', '/a', '?x', '/a/b'),
    );
    fc.assert(
      fc.property(path, fc.constantFrom('GET', 'post', 'HEAD'), (parts, method) => {
        expect(host.decide({ method, target: parts.join(''), headers: [] }).kind).toBe('refused');
      }),
      { numRuns: 10_000, seed: 41 },
    );
  });
});

describe('a request to a host that a rule names', () => {
  const rulings = new RequestRules({ rules: ask, default: 'allow' }).of(origin);
  const host = boundHost({ origin, rules: null, key: null, ...(rulings === null ? {} : { rulings }) });

  it('goes nowhere if its path has two readings, or its headers another method or path', () => {
    expect(host.decide({ method: 'GET', target: '/a/../b', headers: [] })).toMatchObject({
      kind: 'refused',
      rule: 'approvals.rules',
    });
    const headers = [['X-HTTP-Method-Override', 'POST']] as const;
    expect(host.decide({ method: 'GET', target: '/repos/a/pulls', headers })).toMatchObject({
      kind: 'refused',
      rule: 'approvals.rules',
    });
  });

  it('says by which rule a person is asked', () => {
    expect(host.decide({ method: 'POST', target: '/repos/a/pulls', headers: [] })).toMatchObject({
      kind: 'permitted',
      asks: 'approvals.rules[0]',
    });
    expect(host.decide({ method: 'GET', target: '/x', headers: [] })).toMatchObject({ kind: 'permitted', asks: null });
  });
});
