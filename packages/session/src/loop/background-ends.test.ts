import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../../test/support/fake-driver.ts';
import { FakeProcess } from '../../../../test/support/fake-process.ts';
import { fakeTool, passed, SessionFixture, type FixtureOptions } from '../../../../test/support/session-fixture.ts';
import type { ContextId, WorkId } from '@svc/protocol/ids.ts';
import { residueOf } from './background-ends.ts';

const given = { text: 'Build it.', origin: 'message', trust: 'untrusted' } as const;

/** A session whose tool `make` moves a command to the background at once; each call takes the next process. */
function building(options: Omit<FixtureOptions, 'tools'>, ...processes: FakeProcess[]): SessionFixture {
  const make = fakeTool('make', async (_args, { taskId, signal }) => {
    const process = processes.shift();
    if (process === undefined) return passed('nothing is left to make');
    const finished = process.ended.then((end) => {
      const exitCode = end.kind === 'exited' ? end.exitCode : null;
      return { ...passed(`command: make all\nexit code: ${exitCode}`), exitCode };
    });
    const watched = fixture.background.watch({ taskId, name: 'sh', command: 'make all', process, finished }, signal);
    fixture.clock.advance(10_000);
    return passed((await watched).kind);
  });
  const fixture: SessionFixture = new SessionFixture({ ...options, tools: [make] });
  return fixture;
}

async function untilTraced(fixture: SessionFixture, type: string, count: number): Promise<void> {
  await expect.poll(() => fixture.tracedTypes().filter((each) => each === type).length).toBe(count);
}

describe('the end of a background command', () => {
  it('makes a task of the context that started it: untrusted, of the background lane, fenced', async () => {
    const process = new FakeProcess();
    const turns = [calls(['make', {}]), says('It builds.'), says('It is built.')];
    const fixture = building({ turns, acceptance: { afterTask: 'sleep' } }, process);
    const over = fixture.session.run();
    fixture.session.board.submit({ ...given, contextId: 'ctx-1' as ContextId });
    await untilTraced(fixture, 'task_end', 1);
    process.exits(2);
    await untilTraced(fixture, 'task_end', 2);
    await fixture.session.shutDown();
    await over;
    const moved = fixture.traced.find((event) => event.event_type === 'background_command');
    const id = moved?.work_id;
    expect(id).toMatch(/^wrk_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    const received = fixture.traced.filter((event) => event.event_type === 'task_received');
    expect(received[1]).toMatchObject({
      context_id: 'ctx-1',
      origin: 'completion',
      trust: 'untrusted',
      lane: 'background',
      text: `A command that went on in the background, ${id}, has ended.\ncommand: make all\nexit code: 2`,
    });
    expect(fixture.driver.requests[2]?.messages).toEqual([
      {
        role: 'user',
        content: [
          {
            type: 'text',
            text: `<untrusted-content source=task:completion>\nA command that went on in the background, ${id}, has ended.\ncommand: make all\nexit code: 2\n</untrusted-content>`,
          },
        ],
      },
    ]);
  });

  it('goes on from the conversation that its command was started in', async () => {
    const process = new FakeProcess();
    const turns = [calls(['make', {}]), says('It builds.'), says('It is built.')];
    const fixture = building({ turns, threaded: true, acceptance: { afterTask: 'sleep' } }, process);
    const over = fixture.session.run();
    fixture.session.board.submit(given);
    await untilTraced(fixture, 'task_end', 1);
    process.exits(2);
    await untilTraced(fixture, 'task_end', 2);
    await fixture.session.shutDown();
    await over;
    const messages = fixture.driver.requests[2]?.messages ?? [];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(messages[0]?.content).toEqual([{ type: 'text', text: 'Build it.' }]);
  });

  it('stands in the trace with its outcome, beside its beginning', async () => {
    const process = new FakeProcess();
    const turns = [calls(['make', {}]), says('It builds.'), says('It is built.')];
    const fixture = building({ turns, acceptance: { afterTask: 'sleep' } }, process);
    const over = fixture.session.run();
    const { task } = fixture.session.board.submit(given);
    await untilTraced(fixture, 'task_end', 1);
    fixture.clock.advance(500);
    process.exits(2);
    await untilTraced(fixture, 'task_end', 2);
    await fixture.session.shutDown();
    await over;
    const lines = fixture.traced.filter((event) => event.event_type === 'background_command');
    const command = {
      event_type: 'background_command',
      task_id: task.id,
      work_id: lines[0]?.work_id,
      command_name: 'sh',
    };
    expect(lines).toEqual([
      { ...command, state: 'moved', exit_code: null },
      { ...command, state: 'ended', exit_code: 2, duration_ms: 10_500 },
    ]);
  });

  it('waits behind tasks that clients sent, always finds room, and takes none', async () => {
    const processes = [new FakeProcess(), new FakeProcess()];
    const turns = [
      calls(['make', {}], ['make', {}]),
      says('Both build.'),
      async () => {
        for (const process of processes) process.exits(0);
        await untilTraced(fixture, 'task_received', 4);
        expect(fixture.session.board.submit({ ...given, text: 'Third.' }).kind).toBe('accepted');
        expect(fixture.session.board.submit({ ...given, text: 'Fourth.' }).kind).toBe('rejected');
        return says('Second.');
      },
      says('Third.'),
      says('One end.'),
      says('The other.'),
    ];
    const fixture = building({ turns, acceptance: { queueDepth: 1 } }, ...processes);
    fixture.session.board.submit({ ...given, text: 'First.' });
    fixture.session.board.submit({ ...given, text: 'Second.' });
    expect((await fixture.session.run()).status).toBe('ok');
    const texts = fixture.driver.requests.map(({ messages }) => JSON.stringify(messages[0]?.content));
    expect(texts.slice(2, 4)).toEqual(['[{"type":"text","text":"Second."}]', '[{"type":"text","text":"Third."}]']);
    expect(texts.slice(4).every((text) => text.includes('has ended.'))).toBe(true);
    expect(texts).toHaveLength(6);
  });

  it('leaves no place for another task while its own runs and none may wait', async () => {
    const process = new FakeProcess();
    const turns = [
      calls(['make', {}]),
      async () => {
        process.exits(0);
        await untilTraced(fixture, 'task_received', 2);
        return says('It builds.');
      },
      async () => {
        expect(fixture.session.board.submit(given).kind).toBe('rejected');
        return says('It is built.');
      },
    ];
    const fixture = building({ turns, acceptance: { queueDepth: 0 } }, process);
    fixture.session.board.submit(given);
    expect((await fixture.session.run()).status).toBe('ok');
    expect(fixture.driver.requests).toHaveLength(3);
  });

  it.each(['single', 'none'] as const)('reaches no model under %s, and the trace has it', async (taskAcceptance) => {
    const process = new FakeProcess();
    const turns = [
      calls(['make', {}]),
      async () => {
        process.exits(0);
        await untilTraced(fixture, 'background_command', 2);
        return says('It builds.');
      },
    ];
    const fixture = building({ turns, acceptance: { taskAcceptance } }, process);
    fixture.session.board.submit(given);
    expect((await fixture.session.run()).status).toBe('ok');
    expect(fixture.tracedTypes().filter((type) => type === 'task_received')).toHaveLength(1);
    expect(
      fixture.traced.find((event) => event.event_type === 'background_command' && event.state === 'ended'),
    ).toBeDefined();
  });

  it('traps the session when the trace cannot take it', async () => {
    const fixture = building(
      { turns: [calls(['make', {}]), says('It builds.')], traceFailsAt: 'background_command' },
      new FakeProcess(),
    );
    fixture.session.board.submit(given);
    expect(await fixture.session.run()).toMatchObject({ status: 'trapped', trap: { code: 'E-IO-002' } });
  });
});

describe('a session that ends', () => {
  it('ends its background commands first', async () => {
    const process = new FakeProcess();
    const fixture = building({ turns: [calls(['make', {}]), says('It builds.')] }, process);
    fixture.session.board.submit(given);
    expect((await fixture.session.run()).status).toBe('ok');
    expect(process.signals).toEqual(['SIGTERM']);
    expect(fixture.traced.at(-1)).toMatchObject({
      event_type: 'background_command',
      state: 'stopped',
      exit_code: null,
    });
    expect(fixture.tracedTypes().filter((type) => type === 'task_received')).toHaveLength(1);
  });

  it('leaves them alone where only its tasks are stopped', async () => {
    const process = new FakeProcess();
    const turns = [calls(['make', {}]), says('It builds.'), says('It is built.')];
    const fixture = building({ turns, acceptance: { afterTask: 'sleep' } }, process);
    const over = fixture.session.run();
    fixture.session.board.submit(given);
    await untilTraced(fixture, 'task_end', 1);
    await fixture.session.board.cancelAll();
    expect(process.signals).toEqual([]);
    process.exits(0);
    await untilTraced(fixture, 'task_end', 2);
    await fixture.session.shutDown();
    await over;
  });
});

it('residueOf names at most 1,000 characters of a command that is left running', () => {
  const command = { id: 'wrk_1' as WorkId, taskId: 'tsk_1', name: 'sh' };
  const running = [
    { ...command, command: 'x'.repeat(1000) },
    { ...command, command: 'y'.repeat(1001) },
  ];
  expect(residueOf({ running })).toEqual([
    { kind: 'command', id: 'wrk_1', command: 'x'.repeat(1000) },
    { kind: 'command', id: 'wrk_1', command: `${'y'.repeat(1000)}…` },
  ]);
});
