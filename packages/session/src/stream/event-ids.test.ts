import { describe, expect, it } from 'vitest';

import { says, type Turn } from '../../../../test/support/fake-driver.ts';
import { SessionFixture } from '../../../../test/support/session-fixture.ts';
import { SessionEventIds } from './event-stream.ts';

/** A turn that gives two chunks first. */
function streams(end: Exclude<Turn, (...args: never[]) => unknown>): Turn {
  return async (_request, { onText }) => {
    onText('a');
    onText('b');
    return end;
  };
}

describe('the counters of a session', () => {
  it('start where the table says and advance by one [D1-ID-07, D1-ID-08, D1-ID-11]', () => {
    const ids = new SessionEventIds();
    const task = ids.taskCounter();
    expect([task.next(), task.next()]).toEqual([0n, 1n]);
    expect([ids.chunks.next(), ids.chunks.next()]).toEqual([4611686018427387903n, 4611686018427387904n]);
    expect([ids.queuedCancels.next(), ids.queuedCancels.next()]).toEqual([2305843009213693951n, 2305843009213693952n]);
  });

  it('start the input-wait counter again for each call [D1-ID-10]', () => {
    const ids = new SessionEventIds();
    const first = ids.inputWaitCounter();
    expect([first.next(), first.next()]).toEqual([9223372036854775807n, 9223372036854775808n]);
    expect(ids.inputWaitCounter().next()).toBe(9223372036854775807n);
  });

  it('hand the task counter to the chunks and back around an inference call [D1-ID-09]', async () => {
    const fixture = new SessionFixture({ turns: [streams(says('Done.'))] });
    fixture.session.board.submit({ text: 'Go.', origin: 'user', trust: 'trusted' });
    await fixture.session.run();
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '1 text "a" false',
      '2 text "b" false',
      '3 text "" true',
      '4 status completed "session ended"',
    ]);
  });

  it('hand back also when the call fails', async () => {
    const fixture = new SessionFixture({ turns: [streams({ kind: 'failed', error: 'lost' })] });
    fixture.session.board.submit({ text: 'Go.', origin: 'user', trust: 'trusted' });
    await fixture.session.run();
    expect(fixture.lines.at(-1)).toBe('4 status failed "session ended"');
  });

  it('give two tasks the same labels [D1-ID-12]', () => {
    const ids = new SessionEventIds();
    expect(ids.taskCounter().next()).toBe(ids.taskCounter().next());
  });
});
