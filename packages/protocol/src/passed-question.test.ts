import { describe, expect, it } from 'vitest';

import {
  decodeParentReply,
  encodeParentReply,
  encodeParentRequest,
  parseParentRequest,
  type ParentReply,
  type PassedQuestion,
} from './passed-question.ts';

const question: PassedQuestion = {
  id: 'apr_1_q1',
  digest: `sha256:${'0'.repeat(64)}`,
  expiresAtMs: 1_790_000_000_000,
  rule: 'approvals.rules[1]',
  effect: { kind: 'command', argv: ['git', 'push'], cwd: '.' },
  options: ['once', 'session'],
  below: ['helper'],
};

const sent = encodeParentRequest({ kind: 'ask', question });

describe('the question of a child', () => {
  it('arrives as it was sent', () => {
    expect(parseParentRequest(JSON.parse(JSON.stringify(sent)))).toEqual({ kind: 'ask', question });
    for (const request of [{ kind: 'look' }, { kind: 'withdraw', id: 'apr_1_q1' }] as const) {
      expect(parseParentRequest(encodeParentRequest(request))).toEqual(request);
    }
  });

  it.each([
    ['an id with an escape', { id: 'apr_\u001B[2J' }],
    ['a long id', { id: `apr_${'1'.repeat(81)}` }],
    ['a digest that is none', { digest: 'sha256:0' }],
    ['no time', { expires_at: 'soon' }],
    ['an endless time', { expires_at: Number.POSITIVE_INFINITY }],
    ['a name that is none', { below: ['helper', 'a > lead'] }],
    ['names without end', { below: Array.from({ length: 17 }, () => 'a') }],
    ['names that are no list', { below: 'helper' }],
    ['a grant, which only the session of a person asks about', { effect: { kind: 'grant', command: 'sh' } }],
    ['an effect of no kind', { effect: {} }],
    ['an effect without end', { effect: { kind: 'tool', arguments: 'x'.repeat(256 * 1024) } }],
    ['a long rule', { rule: 'x'.repeat(257) }],
    ['another kind', { kind: 'answer' }],
  ])('counts for nothing with %s', (_what, more) => {
    expect(parseParentRequest({ ...sent, ...more })).toBeNull();
  });

  it.each([[null], [[]], ['ask'], [{}], [{ kind: 'withdraw' }], [{ kind: 'withdraw', id: 'tsk_1' }]])(
    'comes to nothing as %j',
    (params) => {
      expect(parseParentRequest(params)).toBeNull();
    },
  );
});

describe('the reply of a parent', () => {
  const answered: ParentReply = {
    kind: 'answered',
    decision: 'deny',
    option: 'once',
    note: 'not today',
    by: 'token:anna',
    seal: 'x',
  };

  it('arrives as it was sent', () => {
    const replies = [{ kind: 'open' }, { kind: 'waits' }, { kind: 'refused', reason: 'nobody' }, answered] as const;
    for (const reply of replies) expect(decodeParentReply(encodeParentReply(reply))).toEqual(reply);
  });

  it.each([
    [{ decision: 'maybe' }],
    [{ option: 'manifest' }],
    [{ note: 7 }],
    [{ note: 'x'.repeat(2001) }],
    [{ by: null }],
    [{ by: 'x'.repeat(1025) }],
    [{ seal: null }],
    [{ kind: 'settled' }],
    [{ kind: 'refused', reason: 'x'.repeat(1001) }],
  ])('counts for nothing with %j', (more) => {
    expect(decodeParentReply({ ...encodeParentReply(answered), ...more })).toBeNull();
  });
});
