import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import { calls, hangs, says, type Turn } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import { WorkdirSize } from './workdir-size.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const userTask = { text: 'Count the files.', origin: 'user', trust: 'trusted' } as const;
const breach = 'the workdir holds 300 bytes, more than the 299 it may hold';

let workdir: string;
eachFolder('svc-measured-', (made) => {
  workdir = made;
});

function fill(): void {
  for (let index = 0; index < 300; index += 1) writeFileSync(join(workdir, `file-${index}`), 'x');
}

/** Every look at the clock finds a slice of measuring over, and no turn has patience. */
function slowlyMeasured(): WorkdirSize {
  let now = 0;
  const clock = {
    monotonicMs: () => (now += 1000),
    after: (_ms: number, callback: () => void) => {
      callback();
      return () => {};
    },
  };
  return new WorkdirSize({ workdir, maxBytes: 299, uid: process.getuid?.() ?? 0, clock, programsRun: () => false });
}

describe('a workdir that takes long to measure', () => {
  it('has its measure taken while the model answers, and nothing of that answer runs before', async () => {
    fill();
    let called = false;
    const size = slowlyMeasured();
    let wasMeasured: boolean | null = null;
    const fixture = new SessionFixture({
      workdirSize: size,
      turns: [
        async () => {
          wasMeasured = size.breached.aborted;
          return calls(['count', {}]);
        },
      ],
      tools: [
        fakeTool('count', async () => {
          called = true;
          return passed('3');
        }),
      ],
    });
    const { task } = fixture.session.board.submit(userTask);
    const { status, trap } = await fixture.session.run();
    expect({ status, message: trap?.message, wasMeasured, called }).toEqual({
      status: 'trapped',
      message: breach,
      wasMeasured: false,
      called: false,
    });
    expect([task.state, task.statusMessage]).toEqual(['failed', breach]);
    expect(fixture.lines).toEqual(['0 status working "inference turn 1"']);
  });

  it('keeps a task no longer than the model takes when it holds little', async () => {
    const fixture = new SessionFixture({ workdirSize: slowlyMeasured(), turns: [says('Done.')] });
    fixture.session.board.submit(userTask);
    await expect(fixture.session.run()).resolves.toMatchObject({ status: 'ok' });
  });

  it('ends a model that is still thinking when the breach is found', async () => {
    fill();
    const fixture = new SessionFixture({ workdirSize: slowlyMeasured(), turns: [hangs] });
    const { task } = fixture.session.board.submit(userTask);
    await expect(fixture.session.run()).resolves.toMatchObject({ status: 'trapped', trap: { message: breach } });
    expect(task.state).toBe('failed');
  });

  it('has its measure taken after each call that a driver makes within one answer', async () => {
    let now = 0;
    const clock = { monotonicMs: () => (now += 1), after: systemClock.after.bind(systemClock) };
    const size = new WorkdirSize({
      workdir,
      maxBytes: 299,
      uid: process.getuid?.() ?? 0,
      clock,
      programsRun: () => false,
    });
    const fills: Turn = async (request, call) => {
      await call.callTool({ type: 'tool_call', id: 'call_1', name: 'fill', input: {} });
      return await hangs(request, call);
    };
    const tool = fakeTool('fill', async () => {
      // The first measure is long ago.
      now += 1_000_000;
      fill();
      return passed('');
    });
    const fixture = new SessionFixture({ workdirSize: size, turns: [fills], tools: [tool] });
    fixture.session.board.submit(userTask);
    await expect(fixture.session.run()).resolves.toMatchObject({ status: 'trapped', trap: { message: breach } });
  });

  it('has its measure taken before a task completes, however short a while ago the last one was', async () => {
    // No time passes, so that a measure that took any would be followed by none.
    let now = 0;
    const clock = { monotonicMs: () => now, after: systemClock.after.bind(systemClock) };
    const size = new WorkdirSize({
      workdir,
      maxBytes: 299,
      uid: process.getuid?.() ?? 0,
      clock,
      programsRun: () => (now += 1) < 0,
    });
    const tool = fakeTool('fill', async () => {
      fill();
      return passed('');
    });
    const fixture = new SessionFixture({
      workdirSize: size,
      turns: [calls(['fill', {}]), says('Done.')],
      tools: [tool],
    });
    const { task } = fixture.session.board.submit(userTask);
    await expect(fixture.session.run()).resolves.toMatchObject({ status: 'trapped', trap: { message: breach } });
    expect(task.state).toBe('failed');
  });

  it('has its measure taken while a call runs, which a breach ends', async () => {
    const size = new WorkdirSize({
      workdir,
      maxBytes: 299,
      uid: process.getuid?.() ?? 0,
      clock: systemClock,
      programsRun: () => false,
    });
    const tool = fakeTool('fill', async (_args, { signal }) => {
      fill();
      await once(signal, 'abort');
      throw signal.reason;
    });
    const fixture = new SessionFixture({ workdirSize: size, turns: [calls(['fill', {}])], tools: [tool] });
    const { task } = fixture.session.board.submit(userTask);
    const ended = fixture.session.run();
    const later = (): string => {
      fixture.clock.advance(1000);
      return task.state;
    };
    await expect.poll(later).toBe('failed');
    await expect(ended).resolves.toMatchObject({ status: 'trapped', trap: { message: breach } });
  });
});
