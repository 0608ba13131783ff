import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../test/support/session-fixture.ts';

const userTask = { text: 'Count the files.', origin: 'user', trust: 'trusted' } as const;
const messageTask = { text: 'And now?', origin: 'message', trust: 'untrusted' } as const;

describe('a task that completes', () => {
  it('goes through turns, tool calls and its reply, with ids of the task counter', async () => {
    const fixture = new SessionFixture({
      turns: [calls(['count', { of: 'files' }]), says('There are 3.')],
      tools: [fakeTool('count', async () => passed('3'))],
    });
    const { task } = fixture.session.board.submit(userTask);
    const outcome = await fixture.session.run();
    expect(outcome).toEqual({ status: 'ok', trap: null, stoppedIdle: false });
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '1 artifact count ok',
      '2 status working "inference turn 2"',
      '3 text "There are 3." true',
      '4 status completed "session ended"',
    ]);
    expect(task.state).toBe('completed');
    expect(fixture.results).toEqual(['There are 3.']);
    expect(fixture.tracedTypes()).toEqual([
      'task_received',
      'task_start',
      'inference',
      'tool_call',
      'inference',
      'task_end',
    ]);
  });

  it('starts its components before the model is asked, and none while no task is there', async () => {
    const happened: string[] = [];
    const fixture = new SessionFixture({
      turns: [async () => (happened.push('asked'), says('Done.'))],
      tools: [
        { ...fakeTool('count', async () => passed('3')), kind: 'wasm', warm: () => void happened.push('started') },
      ],
      hooks: { taskStarted: async () => void happened.push('hooks heard') },
    });
    const running = fixture.session.run();
    await new Promise(setImmediate);
    expect(happened).toEqual([]);
    fixture.session.board.submit(userTask);
    await running;
    expect(happened).toEqual(['started', 'hooks heard', 'asked']);
  });

  it('gives the model what it said and what its tools answered', async () => {
    const fixture = new SessionFixture({
      turns: [calls(['count', {}], ['nothing', {}]), says('Done.')],
      tools: [fakeTool('count', async () => passed('3'))],
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    const [first, second] = fixture.driver.requests;
    expect(first?.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Count the files.' }] }]);
    expect(second?.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_call', id: 'call_1', name: 'count', input: {} },
          { type: 'tool_call', id: 'call_2', name: 'nothing', input: {} },
        ],
      },
      {
        role: 'tool',
        toolCallId: 'call_1',
        isError: false,
        content: [{ type: 'text', text: '<untrusted-content source=tool:count>\n3\n</untrusted-content>' }],
      },
      {
        role: 'tool',
        toolCallId: 'call_2',
        isError: true,
        content: [{ type: 'text', text: 'there is no tool named "nothing"; the tools are count' }],
      },
    ]);
  });

  it('streams chunks from the chunk counter, marks their end and does not repeat the reply [D1-ID-02]', async () => {
    const fixture = new SessionFixture({
      turns: [
        async (_request, call) => {
          call.onThinking('hm');
          call.onText('It is ');
          call.onText('three.');
          return says('It is three.');
        },
      ],
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '1 thinking "hm" false',
      '2 text "It is " false',
      '3 text "three." false',
      '4 text "" true',
      '5 status completed "session ended"',
    ]);
  });

  it('writes the whole reply when its last turn only thought aloud', async () => {
    const fixture = new SessionFixture({
      turns: [
        async (_request, call) => {
          call.onThinking('hm');
          return says('Three.');
        },
      ],
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(fixture.lines.slice(1)).toEqual([
      '1 thinking "hm" false',
      '2 text "" true',
      '3 text "Three." true',
      '4 status completed "session ended"',
    ]);
  });

  it('writes no text frame for an empty reply', async () => {
    const fixture = new SessionFixture({ turns: [says('')] });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(fixture.lines).toEqual(['0 status working "inference turn 1"', '1 status completed "session ended"']);
  });
});

describe('a task that fails', () => {
  it.each([
    [
      'the driver fails',
      { kind: 'failed', error: 'provider answered 500' },
      'session ended',
      'error: provider answered 500',
    ],
    [
      'the driver cannot be called',
      { kind: 'unavailable', error: 'no component' },
      'driver invocation failed: no component',
      'error: driver invocation failed: no component',
    ],
    [
      'the response is an error',
      { ...says(''), stopReason: 'error', error: 'overloaded' },
      'session ended',
      'error: overloaded',
    ],
    [
      'the stop reason is unknown',
      { ...says('x'), stopReason: 'tired' },
      'session ended',
      'error: the driver gave an unknown stop reason: "tired"',
    ],
  ] as const)('ends when %s', async (_name, turn, message, result) => {
    const fixture = new SessionFixture({ turns: [turn] });
    fixture.session.board.submit(userTask);
    expect(await fixture.session.run()).toMatchObject({ status: 'failed', trap: null });
    expect(fixture.frames.at(-1)?.data).toMatchObject({
      status: { state: 'failed', message, response: result },
      final: true,
    });
    expect(fixture.results).toEqual([result]);
  });

  it('ends when its turns are used up, and says how many', async () => {
    const fixture = new SessionFixture({
      turns: [calls(['count', {}]), calls(['count', {}])],
      tools: [fakeTool('count')],
      maxTurns: 2,
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(fixture.lines.at(-1)).toBe('4 status failed "max_turns exceeded: 2 of 2 inference turns used"');
    expect(fixture.results).toEqual(['error: max_turns exceeded: 2 of 2 inference turns used']);
  });

  it('ends before a call that could pass the spend ceiling', async () => {
    const fixture = new SessionFixture({ turns: [says('never')], spendCeiling: 110 });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(fixture.driver.requests).toEqual([]);
    expect(fixture.lines.at(-1)).toMatch(/^1 status failed "spend ceiling reached: 0 of 110 session tokens used/);
    expect(fixture.tracedTypes()).toContain('spend_ceiling_reached');
  });

  it('sends no final frame when a driver line is not JSON, and the session goes on', async () => {
    const fixture = new SessionFixture({
      turns: [{ kind: 'malformed', error: 'the driver wrote: oops' }, says('fine')],
    });
    const { task } = fixture.session.board.submit(userTask);
    fixture.session.board.submit(messageTask);
    expect(await fixture.session.run()).toMatchObject({ status: 'failed', trap: null });
    expect(task.state).toBe('failed');
    expect(task.statusMessage).toBe('the driver wrote: oops');
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      '0 status working "inference turn 1"',
      '1 text "fine" true',
      '2 status completed "session ended"',
    ]);
  });
});

describe('a result with half a character', () => {
  it('reads the same in the file and in the frame [D1-FRAME-11]', async () => {
    const fixture = new SessionFixture({ turns: [{ kind: 'failed', error: 'a\ud800b' }] });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    expect(fixture.results).toEqual(['error: a\ufffdb']);
    expect(fixture.frames.at(-1)?.data).toMatchObject({ status: { response: 'error: a\ufffdb' } });
  });
});

describe('a result that cannot be written', () => {
  it('fails its task alone', async () => {
    const fixture = new SessionFixture({ turns: [says('one'), says('two')], resultRefused: true });
    fixture.session.board.submit(userTask);
    fixture.session.board.submit(messageTask);
    expect(await fixture.session.run()).toMatchObject({ status: 'failed', trap: null });
    expect(fixture.lines.filter((line) => line.includes('failed'))).toHaveLength(2);
    expect(fixture.traced.filter((event) => event.event_type === 'task_end')).toMatchObject([
      { state: 'failed', error: 'E-IO-001: out/result.txt cannot be written' },
      { state: 'failed', error: 'E-IO-001: out/result.txt cannot be written' },
    ]);
  });
});

describe('a driver whose component traps', () => {
  it('fails its task, and the session goes on and says trapped at its end', async () => {
    const trap = { kind: 'failed', error: 'the driver broke off: unreachable', trapped: true } as const;
    const fixture = new SessionFixture({ turns: [trap, says('fine')] });
    fixture.session.board.submit(userTask);
    fixture.session.board.submit(messageTask);
    expect(await fixture.session.run()).toMatchObject({ status: 'trapped', trap: null });
    expect(fixture.lines.at(1)).toBe('1 status failed "session ended"');
    expect(fixture.lines.at(-1)).toBe('2 status completed "session ended"');
  });
});

describe('a session whose last task has ended', () => {
  it('accepts nothing more', async () => {
    const fixture = new SessionFixture({ turns: [says('ok')] });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    const traced = fixture.traced.length;
    expect(fixture.session.board.submit(messageTask).kind).toBe('closed');
    expect(fixture.traced).toHaveLength(traced);
  });
});

describe('a session that cannot keep its trace', () => {
  it('ends trapped, writes no final frame and starts nothing more', async () => {
    const fixture = new SessionFixture({ turns: [says('one'), says('two')], traceFailsAt: 'inference' });
    fixture.session.board.submit(userTask);
    fixture.session.board.submit(messageTask);
    const outcome = await fixture.session.run();
    expect(outcome.status).toBe('trapped');
    expect(outcome.trap?.code).toBe('E-IO-002');
    expect(fixture.frames.some((frame) => frame.data['final'] === true && frame.event === 'status')).toBe(false);
    expect(fixture.driver.requests).toHaveLength(1);
  });
});

describe('a conversation', () => {
  it('goes on within its context when threaded, after success only', async () => {
    const fixture = new SessionFixture({
      turns: [says('Hello Ada.'), { kind: 'failed', error: 'lost' }, says('Ada.')],
      threaded: true,
      acceptance: { queueDepth: 5 },
    });
    const contextId = 'ctx_a' as never;
    fixture.session.board.submit({ ...messageTask, text: 'I am Ada.', contextId });
    fixture.session.board.submit({ ...messageTask, text: 'Forget this.', contextId });
    fixture.session.board.submit({ ...messageTask, text: 'Who am I?', contextId });
    await fixture.session.run();
    const texts = fixture.driver.requests[2]?.messages.map(
      (message) => `${message.role}: ${JSON.stringify(message.content)}`,
    );
    expect(texts).toEqual([
      'user: [{"type":"text","text":"I am Ada."}]',
      'assistant: [{"type":"text","text":"Hello Ada."}]',
      'user: [{"type":"text","text":"Who am I?"}]',
    ]);
  });
});

describe('an untrusted peer', () => {
  it('reaches the model fenced', async () => {
    const fixture = new SessionFixture({ turns: [says('ok')] });
    fixture.session.board.submit({ text: 'Do as I say.', origin: 'peer', trust: 'untrusted' });
    await fixture.session.run();
    expect(fixture.driver.requests[0]?.messages[0]?.content).toEqual([
      { type: 'text', text: '<untrusted-content source=task:peer>\nDo as I say.\n</untrusted-content>' },
    ]);
  });
});
