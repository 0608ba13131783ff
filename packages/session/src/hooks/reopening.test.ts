import { describe, expect, it } from 'vitest';

import { calls, hangs, says } from '../../../../test/support/fake-driver.ts';
import { fakeTool, SessionFixture, type FixtureOptions } from '../../../../test/support/session-fixture.ts';
import type { SessionHooks, TaskEnd } from './session-hooks.ts';

const userTask = { text: 'Write a poem.', origin: 'user', trust: 'trusted' } as const;

/** Hooks that reopen as long as there is feedback left. */
function reopening(...feedback: string[]): { hooks: Partial<SessionHooks>; ends: string[]; refusals: string[] } {
  const ends: string[] = [];
  const refusals: string[] = [];
  const hooks: Partial<SessionHooks> = {
    taskEnded: async ({ attempt }, end: TaskEnd) => {
      ends.push(`${attempt} ${end.state} ${end.text}`);
      const next = feedback.shift();
      return next === undefined ? { kind: 'accepted' } : { kind: 'reopen', feedback: next };
    },
    refused: (event, reason) => void refusals.push(`${event}: ${reason}`),
  };
  return { hooks, ends, refusals };
}

async function run(options: FixtureOptions): Promise<SessionFixture> {
  const fixture = new SessionFixture(options);
  fixture.session.board.submit(userTask);
  await fixture.session.run();
  return fixture;
}

describe('a completed task that a hook reopens', () => {
  it('works again from turn 1, with ids from 0 and the same task id [D1-STATE-18, D1-STATE-19, D1-STATE-20]', async () => {
    const { hooks, ends } = reopening('It does not rhyme.');
    const fixture = await run({ turns: [says('Roses.'), says('Roses, noses.')], hooks });
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '1 text "Roses." true',
      '2 status completed "session ended"',
      '0 status working "inference turn 1"',
      '1 text "Roses, noses." true',
      '2 status completed "session ended"',
    ]);
    expect(new Set(fixture.frames.map(({ data }) => data['id'])).size).toBe(1);
    expect(fixture.frames[2]?.data['final']).toBe(true);
    expect(ends).toEqual(['1 completed Roses.', '2 completed Roses, noses.']);
    expect(fixture.results).toEqual(['Roses.', 'Roses, noses.']);
    expect(fixture.session.board.generation).toBe(1);
  });

  it('shows the model its first answer and the feedback', async () => {
    const { hooks } = reopening('It does not rhyme.');
    const fixture = await run({ turns: [says('Roses.'), says('Roses, noses.')], hooks });
    expect(fixture.driver.requests[1]?.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Write a poem.' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Roses.' }] },
      { role: 'user', content: [{ type: 'text', text: 'It does not rhyme.' }] },
    ]);
  });

  it('has its attempts in the trace', async () => {
    const { hooks } = reopening('It does not rhyme.');
    const fixture = await run({ turns: [says('Roses.'), says('Roses, noses.')], hooks });
    expect(fixture.tracedTypes()).toEqual([
      'task_received',
      'task_start',
      'inference',
      'task_end',
      'task_reopened',
      'task_start',
      'inference',
      'task_end',
    ]);
    expect(fixture.traced.filter(({ event_type: type }) => type === 'task_start')).toMatchObject([
      { attempt: 1 },
      { attempt: 2 },
    ]);
    expect(fixture.traced[4]).toMatchObject({ attempt: 2, feedback: 'It does not rhyme.' });
  });

  it('stays completed once it was reopened as often as it may be [D1-MAN-15]', async () => {
    const { hooks, refusals } = reopening('again', 'and again', 'and again');
    const fixture = await run({ turns: [says('1'), says('2'), says('3')], hooks, maxReopens: 2 });
    expect(fixture.results).toEqual(['1', '2', '3']);
    expect(refusals).toEqual(['on-task-end: lifecycle.max_task_reopens is 2']);
  });

  it('shares the turns of the task', async () => {
    const { hooks } = reopening('again');
    const turns = [calls(['count', {}]), says('1'), calls(['count', {}]), calls(['count', {}])];
    const fixture = await run({ turns, hooks, maxTurns: 3, tools: [fakeTool('count')] });
    expect(fixture.lines.slice(-3)).toEqual([
      '0 status working "inference turn 1"',
      '1 artifact count ok',
      '2 status failed "max_turns exceeded: 3 of 3 inference turns used"',
    ]);
  });

  it('stays completed when no turn is left', async () => {
    const { hooks, refusals } = reopening('again');
    const fixture = await run({ turns: [says('1')], hooks, maxTurns: 1 });
    expect(fixture.lines.at(-1)).toBe('2 status completed "session ended"');
    expect(refusals).toEqual(['on-task-end: all 1 inference turns are used']);
  });

  it('adds to its conversation only what its last attempt says, and nothing when that fails', async () => {
    const { hooks } = reopening('again');
    const fixture = new SessionFixture({
      turns: [says('1'), { kind: 'failed', error: 'lost' }, says('2')],
      hooks,
      threaded: true,
    });
    const { task } = fixture.session.board.submit(userTask);
    fixture.session.board.submit({ ...userTask, text: 'Next.', contextId: task.contextId });
    await fixture.session.run();
    expect(fixture.driver.requests[2]?.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Next.' }] },
    ]);
    expect(fixture.session.board.endedWell).toBe(false);
  });
});

describe('a task whose hooks think', () => {
  /** What clients see of its state meanwhile, attempt by attempt. */
  async function told(options: Partial<FixtureOptions>, mayReopen: boolean): Promise<string[]> {
    const states: string[] = [];
    const fixture: SessionFixture = new SessionFixture({
      turns: [says('1'), says('2')],
      ...options,
      hooks: {
        mayReopen,
        taskEnded: async ({ id, attempt }) => {
          states.push((fixture.session.board.find(id) ?? never()).reportedState);
          return attempt === 1 && mayReopen ? { kind: 'reopen', feedback: 'again' } : { kind: 'accepted' };
        },
        refused: () => {},
      },
    });
    const { task } = fixture.session.board.submit(userTask);
    await fixture.session.run();
    return [...states, task.reportedState];
  }

  it('works for its clients while it may be reopened', async () => {
    expect(await told({}, true)).toEqual(['working', 'completed', 'completed']);
    expect(await told({ maxReopens: 2 }, true)).toEqual(['working', 'working', 'completed']);
  });

  it.each<[string, Partial<FixtureOptions>, boolean]>([
    ['its hooks reopen nothing', {}, false],
    ['it was reopened as often as it may be', { maxReopens: 0 }, true],
    ['no turn is left', { maxTurns: 1 }, true],
  ])('has completed for its clients when %s', async (_, options, mayReopen) => {
    expect(await told(options, mayReopen)).toEqual(['completed', 'completed']);
  });

  it('has failed for its clients at once', async () => {
    expect(await told({ turns: [{ kind: 'failed', error: 'lost' }] }, true)).toEqual(['failed', 'failed']);
  });
});

describe('a task that is not to be reopened', () => {
  it('has failed', async () => {
    const { hooks, ends, refusals } = reopening('again');
    await run({ turns: [{ kind: 'failed', error: 'lost' }], hooks });
    expect(ends).toEqual(['1 failed lost']);
    expect(refusals).toEqual(['on-task-end: a task that is failed is not reopened']);
  });

  it('ended with a cancel, and its hooks see that', async () => {
    const { hooks, ends } = reopening();
    const fixture = new SessionFixture({ turns: [hangs], hooks });
    const { task } = fixture.session.board.submit(userTask);
    const running = fixture.session.run();
    await fixture.frame(({ event }) => event === 'status');
    await fixture.session.board.cancel(task);
    await running;
    expect(ends).toEqual(['1 canceled null']);
  });

  it.each<[string, (fixture: SessionFixture, id: string) => Promise<unknown>]>([
    ['cancels it', async ({ session }, id) => await session.board.cancel(session.board.find(id) ?? never())],
    ['stops the session', async ({ session }) => await session.board.cancelAll()],
  ])('has completed when someone %s, while its hooks think', async (_, stop) => {
    let ended = (): void => {};
    const thinking = new Promise<void>((resolve) => (ended = resolve));
    const refusals: string[] = [];
    const fixture: SessionFixture = new SessionFixture({
      turns: [says('1'), says('2')],
      hooks: {
        taskEnded: async ({ id }) => {
          await stop(fixture, id);
          ended();
          return { kind: 'reopen', feedback: 'again' };
        },
        refused: (_event, reason) => void refusals.push(reason),
      },
    });
    fixture.session.board.submit(userTask);
    const outcome = await fixture.session.run();
    await thinking;
    expect(outcome.status).toBe('ok');
    expect(fixture.results).toEqual(['1']);
    expect(refusals).toEqual(['the task was canceled']);
  });
});

function never(): never {
  throw new Error('the task is known');
}
