import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';

const userTask = { text: 'Count the files.', origin: 'user', trust: 'trusted' } as const;
const count = fakeTool('count', async () => passed('42'));

describe('a call that a driver makes in the middle of its inference', () => {
  it('appears between the chunks, with ids that rise, and answers the driver', async () => {
    const answers: unknown[] = [];
    const fixture = new SessionFixture({
      turns: [
        async (_request, call) => {
          call.onText('Let me see. ');
          answers.push(await call.callTool({ type: 'tool_call', id: 'a', name: 'count', input: {} }));
          answers.push(await call.callTool({ type: 'tool_call', id: 'b', name: 'none', input: {} }));
          call.onText('42.');
          return says('Let me see. 42.');
        },
      ],
      tools: [count],
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '1 text "Let me see. " false',
      '2 artifact count ok',
      '3 artifact none error',
      '4 text "42." false',
      '5 text "" true',
      '6 status completed "session ended"',
    ]);
    expect(answers).toEqual([
      { content: '<untrusted-content source=tool:count>\n42\n</untrusted-content>', isError: false },
      { content: 'there is no tool named "none"; the tools are count', isError: true },
    ]);
    expect(fixture.traced.filter(({ event_type: type }) => type === 'tool_call')).toMatchObject([
      { turn: 1, tool_name: 'count', tool_call_id: 'a' },
      { turn: 1, tool_name: 'none', tool_call_id: 'b' },
    ]);
  });
});

describe('a call that a tool makes', () => {
  it('meets the same checks as one of the model and writes no frame of its own', async () => {
    const judged: string[] = [];
    const seen: unknown[] = [];
    const outer = fakeTool('outer', async (_args, { tools }) => {
      seen.push(tools.kindOf('count'), tools.kindOf('none'));
      const { content, denied } = await tools.dispatch({ id: 'x', name: 'count', input: {} }, 'x');
      seen.push(content, denied);
      return passed('done');
    });
    const fixture = new SessionFixture({
      turns: [calls(['outer', {}]), says('Done.')],
      tools: [count, outer],
      hooks: {
        judgeCall: async (_task, { toolName }) => {
          judged.push(toolName);
          return toolName === 'count' ? { kind: 'deny', reason: 'not now' } : { kind: 'proceed' };
        },
      },
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(judged).toEqual(['outer', 'count']);
    expect(seen).toEqual(['wasm', undefined, 'not now', true]);
    expect(fixture.lines.filter((line) => line.includes('artifact'))).toEqual(['1 artifact outer ok']);
  });

  it('goes into the trace by the tool, whose task ends with the session when the trace cannot take it', async () => {
    const told: unknown[] = [];
    const recording = fakeTool('recording', async ({ id }, { record }) => {
      told.push(record({ event_type: 'plan_start', task_id: 'tsk_1', plan_id: String(id), steps: 1 }));
      return passed('recorded');
    });
    const fixture = new SessionFixture({
      turns: [calls(['recording', { id: 'p' }]), says('Done.')],
      tools: [recording],
      traceFailsAt: 'plan_start',
    });
    fixture.session.board.submit(userTask);
    expect(await fixture.session.run()).toMatchObject({ status: 'trapped', trap: { code: 'E-IO-002' } });
    expect(told).toEqual([false]);
    expect(fixture.lines).toEqual(['0 status working "inference turn 1"']);
  });
});
