import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';

const userTask = { text: 'Count the files.', origin: 'user', trust: 'trusted' } as const;

describe('a call that a hook denies', () => {
  const run = fakeTool('run', async () => passed('ran'));

  it('writes no frame, gives the model the reason and leaves the rest of the turn alone [D1-FRAME-16]', async () => {
    const judged: unknown[] = [];
    const fixture = new SessionFixture({
      turns: [calls(['run', { command: 'rm' }], ['run', { command: 'ls' }]), says('Done.')],
      tools: [run],
      hooks: {
        judgeCall: async ({ id }, call) => {
          judged.push({ taskId: id, ...call });
          return call.arguments['command'] === 'rm'
            ? { kind: 'deny', reason: 'rm is not allowed' }
            : { kind: 'proceed' };
        },
      },
    });
    const { task } = fixture.session.board.submit(userTask);
    expect((await fixture.session.run()).status).toBe('ok');
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '1 artifact run ok',
      '2 status working "inference turn 2"',
      '3 text "Done." true',
      '4 status completed "session ended"',
    ]);
    expect(judged).toEqual([
      { taskId: task.id, turn: 1, toolName: 'run', kind: 'wasm', callId: 'call_1', arguments: { command: 'rm' } },
      { taskId: task.id, turn: 1, toolName: 'run', kind: 'wasm', callId: 'call_2', arguments: { command: 'ls' } },
    ]);
    expect(fixture.driver.requests[1]?.messages.slice(2)).toEqual([
      { role: 'tool', toolCallId: 'call_1', isError: true, content: [{ type: 'text', text: 'rm is not allowed' }] },
      {
        role: 'tool',
        toolCallId: 'call_2',
        isError: false,
        content: [{ type: 'text', text: '<untrusted-content source=tool:run>\nran\n</untrusted-content>' }],
      },
    ]);
    expect(fixture.traced.filter((event) => event.event_type === 'tool_call')).toMatchObject([
      { arguments: { command: 'rm' }, is_error: true },
      { arguments: { command: 'ls' }, is_error: false },
    ]);
  });

  it('reaches the hook only when it could run', async () => {
    const judged: string[] = [];
    const fixture = new SessionFixture({
      turns: [calls(['nothing', {}], ['run', 'no object']), says('Done.')],
      tools: [run],
      hooks: {
        judgeCall: async (_task, { toolName }) => {
          judged.push(toolName);
          return { kind: 'proceed' };
        },
      },
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(judged).toEqual([]);
    expect(fixture.lines.slice(1, 3)).toEqual(['1 artifact nothing error', '2 artifact run error']);
  });
});

describe('artifacts of hooks', () => {
  it('have frames of their own between the last turn and completed [D1-FRAME-15, D1-FRAME-27, D1-FRAME-32]', async () => {
    const taken: string[] = [];
    const fixture = new SessionFixture({
      turns: [says('Done.')],
      hooks: {
        takeArtifacts: (taskId) => {
          taken.push(taskId);
          return [
            { hookName: 'cost', content: '3 cents' },
            { hookName: 'review', content: 'fine' },
          ];
        },
      },
    });
    const { task } = fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '1 text "Done." true',
      '2 artifact cost ok',
      '3 artifact review ok',
      '4 status completed "session ended"',
    ]);
    expect(taken).toEqual([task.id]);
    expect(fixture.frames[2]?.data).toEqual({
      id: task.id,
      artifact: {
        tool_name: 'cost',
        content: '3 cents',
        fence_source: null,
        tool_call_id: null,
        is_error: false,
        duration_ms: null,
        exit_code: null,
        truncated: false,
      },
    });
  });

  it('have no frames for a task that fails', async () => {
    const fixture = new SessionFixture({
      turns: [{ kind: 'failed', error: 'lost' }],
      hooks: { takeArtifacts: () => [{ hookName: 'cost', content: '3 cents' }] },
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(fixture.lines).toEqual(['0 status working "inference turn 1"', '1 status failed "session ended"']);
  });
});

it('what a turn may come to is set aside for as long as it runs: a hook may ask the model meanwhile', async () => {
  const refusals: (number | null)[] = [];
  const fixture: SessionFixture = new SessionFixture({
    turns: [
      async (request) => {
        refusals.push(fixture.spend.check(request)?.ceiling ?? null);
        return says('Done.');
      },
    ],
    spendCeiling: 250,
    hooks: {
      inferred: async () => {
        for (const request of fixture.driver.requests) refusals.push(fixture.spend.check(request)?.ceiling ?? null);
      },
    },
  });
  fixture.session.board.submit(userTask);
  expect((await fixture.session.run()).status).toBe('ok');
  expect(refusals).toEqual([250, null]);
});
