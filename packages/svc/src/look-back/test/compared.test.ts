import { describe, expect, it } from 'vitest';

import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import type { InferenceRequest, Message } from '@svc/session/model/driver.ts';
import { inProcessorTime } from '../../../../../test/support/processor-time.ts';
import { comparableGrants, firstUnequal, RequestComparison } from './compared.ts';

function said(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function request(messages: readonly Message[], system = 'Be brief.'): InferenceRequest {
  return { model: 'scripted', system, tools: [], messages, maxTokens: 1000 };
}

function fingerprintOf(requests: readonly InferenceRequest[], ignored: readonly string[] = []): string {
  const comparison = new RequestComparison(ignored);
  for (const each of requests) comparison.compare(each, each);
  return comparison.fingerprint();
}

describe('the fingerprint of the requests of a session', () => {
  const [a, b, c] = ['a', 'b', 'c'].map(said) as [Message, Message, Message];

  it('stays the same for the same requests, whether or not they share their messages', () => {
    const again = [said('a'), said('b')];
    expect(fingerprintOf([request([a]), request([a, b])])).toBe(
      fingerprintOf([request(again.slice(0, 1)), request([said('a'), said('b')])]),
    );
  });

  it.each([
    ['another message', [request([a]), request([a, c])]],
    ['another order', [request([a]), request([b, a])]],
    ['one message less', [request([a]), request([a])]],
    ['a request that begins anew', [request([a]), request([b])]],
    ['another prompt', [request([a]), request([a, b], 'Be thorough.')]],
    ['one request more', [request([a]), request([a, b]), request([a, b])]],
  ])('changes for %s', (_, requests) => {
    expect(fingerprintOf(requests)).not.toBe(fingerprintOf([request([a]), request([a, b])]));
  });

  it('does not depend on what is ignored', () => {
    const ignored = ['/system', '/messages/1'];
    expect(fingerprintOf([request([a, b])], ignored)).toBe(fingerprintOf([request([a, c], 'Other.')], ignored));
    expect(fingerprintOf([request([a, b])], ignored)).not.toBe(fingerprintOf([request([c, b])], ignored));
  });

  it('takes time in proportion to what is new in each request', () => {
    const long = 'x'.repeat(20_000);
    const messages = Array.from({ length: 1000 }, (_, index) => said(`${index} ${long}`));
    const requests = messages.map((_, index) => request(messages.slice(0, index + 1)));
    const { value, ms } = inProcessorTime(() => fingerprintOf(requests));
    expect(value).toMatch(/^[0-9a-f]{16}$/);
    // The texts of all requests have 10 GB together, those of all messages 20 MB.
    expect(ms).toBeLessThan(4000);
  });
});

describe('grants with more to say than their names', () => {
  it('differ wherever one of them says something else', () => {
    const web = { artifact: 'web', url: 'https://a.example/mcp', auth: null };
    const held = { host: 'api.example:443', rules: ['GET /x'], credential: 'key' };
    const bare = { containment: { declared: 'sealed' }, limits: [], preopens: [] };
    const of = (server: object, host: object): ReturnType<typeof comparableGrants> =>
      comparableGrants({
        ...bare,
        mcp_servers: [{ ...web, ...server }],
        bound_hosts: [{ ...held, ...host }],
      } as unknown as ScopeObject);
    const difference = (server: object, host: object): unknown =>
      firstUnequal(of({}, {}), of(server, host), '/grants', []);
    expect(difference({}, {})).toBe(null);
    expect(difference({ url: 'https://b.example/mcp' }, {})).toEqual({
      path: '/grants/mcp_servers/web/url',
      recorded: 'https://a.example/mcp',
      now: 'https://b.example/mcp',
    });
    expect(difference({}, { rules: ['GET /x', 'POST /x'] })).toEqual({
      path: '/grants/bound_hosts/api.example:443/rules/POST ~1x',
      recorded: undefined,
      now: 'granted',
    });
  });
});
