import { describe, expect, it } from 'vitest';

import { calls, hangs, says } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';

const userTask = { text: 'Count the files.', origin: 'user', trust: 'trusted' } as const;
const messageTask = { text: 'And now?', origin: 'message', trust: 'untrusted' } as const;

describe('input', () => {
  const asking = fakeTool('ask', async (_args, context) => {
    const answer = await context.requestInput('Which one?');
    return answer.kind === 'answered'
      ? passed(answer.text)
      : { status: 'failed', content: 'nobody answered', exitCode: null, truncated: false };
  });

  it('has ids of the input-wait counter, asked and answered [D1-ID-03]', async () => {
    const fixture = new SessionFixture({ turns: [calls(['ask', {}]), says('Blue it is.')], tools: [asking] });
    fixture.session.board.submit(userTask);
    const running = fixture.session.run();
    const waiting = await fixture.frame((frame) => frame.id === 9223372036854775807n);
    expect(waiting.data).toMatchObject({ status: { state: 'input-required', message: 'Which one?' }, final: false });
    expect(fixture.session.board.answerInput({ text: 'blue' })?.state).toBe('working');
    await running;
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '9223372036854775807 status input-required "Which one?"',
      '9223372036854775808 status working "resumed"',
      '1 artifact ask ok',
      '2 status working "inference turn 2"',
      '3 text "Blue it is." true',
      '4 status completed "session ended"',
    ]);
  });

  it('fails the tool, not the task, when it does not come [D1-STATE-07]', async () => {
    const fixture = new SessionFixture({
      turns: [calls(['ask', {}]), says('Then I choose.')],
      tools: [asking],
      inputTimeoutMs: 5000,
    });
    fixture.session.board.submit(userTask);
    const running = fixture.session.run();
    await fixture.frame((frame) => frame.id === 9223372036854775807n);
    fixture.clock.advance(5000);
    expect((await running).status).toBe('ok');
    expect(fixture.lines.slice(1, 5)).toEqual([
      '9223372036854775807 status input-required "Which one?"',
      '9223372036854775808 status failed "input-timeout"',
      '1 artifact ask error',
      '2 status working "inference turn 2"',
    ]);
  });

  it('may take 30 minutes where the task came through a door, and for ever at a terminal', async () => {
    for (const [origin, ends] of [
      ['message', true],
      ['user', false],
    ] as const) {
      const fixture = new SessionFixture({ turns: [calls(['ask', {}]), says('ok')], tools: [asking] });
      fixture.session.board.submit({ ...userTask, origin });
      const running = fixture.session.run();
      await fixture.frame((frame) => frame.id === 9223372036854775807n);
      fixture.clock.advance(30 * 60_000 - 1);
      expect(fixture.session.board.live()[0]?.inputWait).not.toBeNull();
      fixture.clock.advance(1);
      expect(fixture.session.board.live()[0]?.inputWait === null).toBe(ends);
      if (!ends) fixture.session.board.answerInput({ text: 'late' });
      expect((await running).status).toBe('ok');
    }
  });

  it('ends its wait once the task is canceled', async () => {
    const fixture = new SessionFixture({ turns: [calls(['ask', {}])], tools: [asking] });
    const { task } = fixture.session.board.submit(userTask);
    const running = fixture.session.run();
    await fixture.frame((frame) => frame.id === 9223372036854775807n);
    await fixture.session.board.cancel(task);
    expect((await running).status).toBe('failed');
    expect(fixture.lines.at(-1)).toBe('1 status canceled "task canceled"');
    expect(fixture.session.board.answerInput({ text: 'late' })).toBeNull();
  });
});

describe('cancellation', () => {
  it('wins over the outcome of a running task [D1-ID-01]', async () => {
    const fixture = new SessionFixture({ turns: [hangs] });
    const { task } = fixture.session.board.submit(userTask);
    const running = fixture.session.run();
    await fixture.frame((frame) => frame.id === 0n);
    expect((await fixture.session.board.cancel(task)).state).toBe('canceled');
    expect((await running).status).toBe('failed');
    expect(fixture.lines).toEqual(['0 status working "inference turn 1"', '1 status canceled "task canceled"']);
    expect(fixture.results).toEqual([]);
    expect(fixture.tracedTypes().slice(-2)).toEqual(['task_canceled', 'task_end']);
    expect(fixture.traced.at(-1)).toMatchObject({ state: 'canceled', turns: 1 });
  });

  it('takes the queued-cancel counter for a queued task and starts nothing [D1-ID-04]', async () => {
    const fixture = new SessionFixture({ turns: [hangs], acceptance: { queueDepth: 2 } });
    const first = fixture.session.board.submit(userTask).task;
    const second = fixture.session.board.submit(messageTask).task;
    const third = fixture.session.board.submit(messageTask).task;
    const running = fixture.session.run();
    await fixture.frame((frame) => frame.id === 0n);
    await fixture.session.board.cancel(second);
    await fixture.session.board.cancel(third);
    await fixture.session.board.cancel(first);
    await running;
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '2305843009213693951 status canceled "task canceled before it started"',
      '2305843009213693952 status canceled "task canceled before it started"',
      '1 status canceled "task canceled"',
    ]);
  });

  it.each(['the driver is closing', 'the reply is being written'])(
    'wins over the completed task when it is accepted while %s',
    async (moment) => {
      let cancel = (): void => {};
      const fixture = new SessionFixture({
        turns: [says('Done.')],
        closeTask: async () => {
          if (moment === 'the driver is closing') cancel();
        },
        onSeen: ({ event }) => {
          if (moment === 'the reply is being written' && event === 'text') cancel();
        },
      });
      const { task } = fixture.session.board.submit(userTask);
      cancel = () => void fixture.session.board.cancel(task);
      expect((await fixture.session.run()).status).toBe('failed');
      expect(fixture.lines.at(-1)).toMatch(/ status canceled "task canceled"$/);
      expect(fixture.lines.join()).not.toContain('completed');
      expect(fixture.traced.at(-1)).toMatchObject({ event_type: 'task_end', state: 'canceled' });
    },
  );

  it('leaves a session well in which another task completed', async () => {
    const fixture = new SessionFixture({ turns: [hangs, says('Done.')], acceptance: { queueDepth: 1 } });
    const first = fixture.session.board.submit(userTask).task;
    const second = fixture.session.board.submit(messageTask).task;
    const running = fixture.session.run();
    await fixture.frame((frame) => frame.id === 0n);
    await fixture.session.board.cancel(first);
    expect((await running).status).toBe('ok');
    expect([first.state, second.state]).toEqual(['canceled', 'completed']);
  });

  it('makes a session failed when its end canceled a task, whatever completed before', async () => {
    const fixture = new SessionFixture({ turns: [says('Done.'), hangs], acceptance: { queueDepth: 1 } });
    fixture.session.board.submit(userTask);
    fixture.session.board.submit(messageTask);
    const running = fixture.session.run();
    await fixture.frame((frame) => frame.id > 0n && fixture.lines.at(-1)?.includes('working') === true);
    await fixture.session.shutDown();
    expect((await running).status).toBe('failed');
  });

  it('leaves a terminal task as it is', async () => {
    const fixture = new SessionFixture({ turns: [says('ok')] });
    const { task } = fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect((await fixture.session.board.cancel(task)).state).toBe('completed');
  });
});

describe('the end of a task', () => {
  it.each([
    ['completed', [says('Done.')]],
    ['failed', [{ kind: 'failed', error: 'lost' }]],
  ] as const)('%s is in the trace before any reader hears of it', async (state, turns) => {
    const atTheEnd: unknown[] = [];
    const fixture = new SessionFixture({
      turns,
      onSeen: ({ event, data }) => {
        if (event === 'status' && data['final'] === true) atTheEnd.push(fixture.traced.at(-1));
      },
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(atTheEnd).toMatchObject([{ event_type: 'task_end', state }]);
  });
});

describe('a task that waits when the session cannot go on', () => {
  it('has failed for every client', async () => {
    const fixture = new SessionFixture({ turns: [says('one')], traceFailsAt: 'inference' });
    fixture.session.board.submit(userTask);
    const { task } = fixture.session.board.submit(messageTask);
    expect((await fixture.session.run()).status).toBe('trapped');
    expect([task.state, task.statusMessage]).toEqual(['failed', 'the session ended before the task started']);
    expect(await fixture.session.board.cancel(task)).toBe(task);
  });
});

describe('a question that the runtime cannot put', () => {
  it('ends the session, whatever the tool makes of it', async () => {
    const stubborn = fakeTool('ask', async (_args, context) => {
      await context.requestInput('Which one?').catch(() => undefined);
      return passed('as if nothing had happened');
    });
    const fixture = new SessionFixture({
      turns: [calls(['ask', {}]), says('never')],
      tools: [stubborn],
      traceFailsAt: 'task_input_required',
    });
    fixture.session.board.submit(userTask);
    const running = fixture.session.run();
    await fixture.frame((frame) => frame.id === 9223372036854775807n);
    fixture.session.board.answerInput({ text: 'blue' });
    expect((await running).status).toBe('trapped');
    expect(fixture.driver.requests).toHaveLength(1);
  });
});
