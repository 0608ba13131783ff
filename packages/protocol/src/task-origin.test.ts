import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, text, trust } from '../test/both-ways.ts';
import { type TaskOrigin, decodeTaskOrigin, encodeTaskOrigin } from './task-origin.ts';

describe('what headers tell', () => {
  it('has the origin of a message', () => {
    const origin: fc.Arbitrary<TaskOrigin> = fc.oneof(
      fc.constant({ kind: 'message' as const }),
      fc.record({ kind: fc.constant('peer' as const), trust }),
      fc.record({
        kind: fc.constant('completion' as const),
        trust,
        sessionId: fc.option(text, { nil: undefined }),
        delegationId: fc.option(text, { nil: undefined }),
      }),
    );
    bothWays(origin, (each) => {
      const headers = encodeTaskOrigin(each);
      return decodeTaskOrigin((name) => headers[name]);
    });
    expect(encodeTaskOrigin({ kind: 'completion', trust: 'trusted', sessionId: 's', delegationId: 'd' })).toEqual({
      'x-svc-task-origin': 'completion',
      'x-svc-task-trust': 'trusted',
      'x-svc-delegation-id': 'd',
      'x-svc-completion-session': 's',
    });
    expect(decodeTaskOrigin((name) => (name.endsWith('origin') ? 'peer' : 'later'))).toEqual({
      kind: 'peer',
      trust: 'untrusted',
    });
  });
});
