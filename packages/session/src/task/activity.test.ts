import { describe, expect, it } from 'vitest';

import { calls, hangs, says } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import type { Activity } from './activity.ts';

const userTask = { text: 'Count the files.', origin: 'user', trust: 'trusted' } as const;

/** Every activity of a session from now on. */
function heard(fixture: SessionFixture): Activity[] {
  const activities: Activity[] = [];
  fixture.activity.subscribe((activity) => activities.push(activity));
  return activities;
}

function kinds(activities: readonly Activity[]): string[] {
  return activities.map((activity) => activity.kind);
}

describe('the activity of a session', () => {
  it('shows a call with its arguments while it runs, before its result', async () => {
    let whileRunning: readonly Activity[] = [];
    const count = fakeTool('count', async () => {
      whileRunning = [...activities];
      return passed('3');
    });
    const fixture = new SessionFixture({ turns: [calls(['count', { of: 'files' }]), says('3')], tools: [count] });
    const activities = heard(fixture);
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    const started = whileRunning.at(-1);
    expect(started).toMatchObject({ kind: 'call-started', turn: 1, call: { name: 'count', input: { of: 'files' } } });
    expect(kinds(activities)).toEqual([
      'task-submitted',
      'attempt-started',
      'state-changed',
      'inference-started',
      'inference-left',
      'inference-ended',
      'call-started',
      'call-judged',
      'call-ended',
      'state-changed',
      'inference-started',
      'inference-left',
      'inference-ended',
      'whole-reply',
      'attempt-ended',
      'state-changed',
      'task-settled',
    ]);
  });

  it('shows that a task is settled only after its hooks have answered: not before a reopening', async () => {
    let ends = 0;
    const fixture = new SessionFixture({
      turns: [says('Half of it.'), says('All of it.')],
      hooks: {
        mayReopen: true,
        taskEnded: async () => {
          ends += 1;
          expect(kinds(activities)).not.toContain('task-settled');
          return ends === 1 ? { kind: 'reopen', feedback: 'Finish it.' } : { kind: 'accepted' };
        },
      },
    });
    const activities = heard(fixture);
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(kinds(activities).filter((kind) => /reopened|settled|attempt/.test(kind))).toEqual([
      'attempt-started',
      'attempt-ended',
      'task-reopened',
      'attempt-started',
      'attempt-ended',
      'task-settled',
    ]);
  });

  it('names the questions of a task, and shows how each was settled', async () => {
    const ask = fakeTool('ask', async (_args, { requestInput }) => {
      const first = await requestInput('Which one?');
      const second = await requestInput('Sure?');
      return passed(`${first.kind} ${second.kind}`);
    });
    const fixture = new SessionFixture({ turns: [calls(['ask', {}]), says('ok')], tools: [ask], inputTimeoutMs: 1000 });
    const activities = heard(fixture);
    fixture.activity.subscribe((activity) => {
      if (activity.kind !== 'question') return;
      if (activity.question.waitId === 'q1')
        setImmediate(() => fixture.session.board.answerInput({ text: 'the red one' }));
      else setImmediate(() => fixture.clock.advance(1000));
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    const asked = activities.flatMap((activity) =>
      activity.kind === 'question' || activity.kind === 'question-settled'
        ? [
            [
              activity.question.waitId,
              activity.question.prompt,
              ...(activity.kind === 'question' ? ['open'] : [activity.end, activity.answer]),
            ],
          ]
        : [],
    );
    expect(asked).toEqual([
      ['q1', 'Which one?', 'open'],
      ['q1', 'Which one?', 'answered', 'the red one'],
      ['q2', 'Sure?', 'open'],
      ['q2', 'Sure?', 'timed-out', null],
    ]);
  });

  it('settles every task that was submitted once, whatever became of it, and says why it failed', async () => {
    const fixture = new SessionFixture({
      turns: [{ kind: 'failed', error: 'the provider is down' }, hangs],
      acceptance: { queueDepth: 3 },
    });
    const activities = heard(fixture);
    const { board } = fixture.session;
    const [failing, running, queued] = ['1', '2', '3'].map((text) => board.submit({ ...userTask, text }).task);
    fixture.activity.subscribe((activity) => {
      if (activity.kind === 'inference-started' && activity.task === running)
        setImmediate(() => void board.cancelAll());
    });
    await fixture.session.run();
    const settled = activities.flatMap((activity) => (activity.kind === 'task-settled' ? [activity.task] : []));
    expect(settled).toEqual([failing, queued, running]);
    expect(settled.map(({ state, failure }) => [state, failure])).toEqual([
      ['failed', 'the provider is down'],
      ['canceled', null],
      ['canceled', null],
    ]);
  });

  it('skips the later listeners when the record cannot be written, which ends the session', async () => {
    const fixture = new SessionFixture({ turns: [says('Done.')], traceFailsAt: 'inference' });
    const activities = heard(fixture);
    fixture.session.board.submit(userTask);
    const { status } = await fixture.session.run();
    expect(status).toBe('trapped');
    expect(kinds(activities)).not.toContain('inference-ended');
    expect(kinds(activities).at(-1)).toBe('task-settled');
  });

  it('skips a listener that has left', async () => {
    const fixture = new SessionFixture({ turns: [says('Done.')] });
    const seen: string[] = [];
    const leave = fixture.activity.subscribe(({ kind }) => {
      seen.push(kind);
      if (kind === 'attempt-started') leave();
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(seen).toEqual(['task-submitted', 'attempt-started']);
  });
});
