import { describe, expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { Inventory, type DispatchContext } from './inventory.ts';
import type { Tool, ToolCallContext, ToolOutcome } from './tool.ts';

const passed: ToolOutcome = { status: 'passed', content: 'fine', exitCode: null, truncated: false };

function tool(name: string, over: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `the ${name}`,
    kind: 'wasm',
    inputSchema: { type: 'object' },
    call: () => Promise.resolve(passed),
    ...over,
  };
}

function answering(outcome: Partial<ToolOutcome>): Tool['call'] {
  return () => Promise.resolve({ ...passed, ...outcome });
}

const context: DispatchContext = {
  taskId: 'tsk_1',
  place: 'tsk_1/1/m1/t1',
  settle: (look) => look(),
  signal: new AbortController().signal,
  emitText: () => {},
  emitThinking: () => {},
  requestInput: () => Promise.resolve({ kind: 'timed-out' }),
  judge: async () => ({ kind: 'proceed' }),
  record: () => true,
};

/** Each reading is 7.4 ms after the one before. */
function steppingClock(): { monotonicMs(): number; now(): number } {
  let now = 0;
  return { monotonicMs: () => (now += 7.4), now: () => 1000 };
}

const inventory = (...tools: Tool[]): Inventory => new Inventory(tools, steppingClock());

describe('the inventory', () => {
  it('shows the model its tools in the order of names', () => {
    const { definitions, names } = inventory(tool('b'), tool('a-b'), tool('B'), tool('a'));
    expect(names).toEqual(['B', 'a', 'a-b', 'b']);
    expect(definitions[1]).toEqual({ name: 'a', description: 'the a', inputSchema: { type: 'object' } });
  });

  it('starts each component among its first four tools once, and with them nothing else', () => {
    const warmed: string[] = [];
    const warming = (name: string, kind: Tool['kind']): Tool =>
      tool(name, { kind, warm: () => void warmed.push(name) });
    const tools = inventory(
      warming('a', 'wasm'),
      warming('b', 'native'),
      warming('c', 'wasm'),
      warming('d', 'mcp'),
      warming('e', 'wasm'),
    );
    tools.startComponents();
    expect(warmed).toEqual(['a', 'c']);
    tools.startComponents();
    tools.warm();
    expect(warmed).toEqual(['a', 'c', 'b', 'd']);
  });

  it.each(['delegate-task', 'share-file', 'fetch-peer-file', 'submit-plan'])(
    'refuses an artifact or a command named %s with E-CAP-013',
    (name) => {
      for (const kind of ['wasm', 'native', 'skill', 'shell'] as const) {
        expect(() => inventory(tool(name, { kind }))).toThrow(DiagnosticList);
        expect(() => inventory(tool(name, { kind }))).toThrow(/E-CAP-013/);
      }
      expect(inventory(tool(name, { kind: 'runtime' })).names).toEqual([name]);
    },
  );

  it('refuses two tools of one name, naming both', () => {
    expect(() => inventory(tool('git'), tool('git', { kind: 'shell' }))).toThrow(
      'E-CAP-014: the artifact git and the shell command git share one name',
    );
    const ofServer = tool('notes__read', { kind: 'mcp', artifact: 'notes' });
    expect(() => inventory(ofServer, tool('notes__read', { kind: 'shell' }))).toThrow(
      'E-CAP-014: the tool notes__read of the artifact notes and the shell command notes__read share one name',
    );
  });
});

describe('a dispatched call', () => {
  it('carries everything its artifact frame says [D1-FRAME-19] [D1-FRAME-21] [D1-FRAME-22] [D1-FRAME-24]', async () => {
    const call = { id: 'call_9', name: 'greet', input: { name: 'world' } };
    expect(await inventory(tool('greet')).dispatch(call, context)).toEqual({
      toolName: 'greet',
      kind: 'wasm',
      content: '<untrusted-content source=tool:greet>\nfine\n</untrusted-content>',
      fenceSource: 'tool:greet',
      unfenced: 'fine',
      output: 'fine',
      callId: 'call_9',
      isError: false,
      startMs: 1000,
      durationMs: 7,
      exitCode: null,
      truncated: false,
      reached: true,
      denied: false,
    });
  });

  it('holds what a tool can hand to another call, which may differ from what the model reads', async () => {
    const shell = tool('sh', { kind: 'shell', call: answering({ content: 'stdout: <b>', output: 'a\ud800' }) });
    expect(await inventory(shell).dispatch({ id: 'c', name: 'sh', input: {} }, context)).toMatchObject({
      content: '<untrusted-content source=tool:sh>\nstdout: <b>\n</untrusted-content>',
      unfenced: 'stdout: <b>',
      output: 'a\ufffd',
    });
  });

  it('hands the arguments and the context to the tool', async () => {
    const calls: unknown[] = [];
    const spy = tool('spy', {
      call: (args, { callId, taskId }: ToolCallContext) => {
        calls.push([args, callId, taskId]);
        return Promise.resolve(passed);
      },
    });
    await inventory(spy).dispatch({ id: 'c', name: 'spy', input: { a: [1] } }, context);
    expect(calls).toEqual([[{ a: [1] }, 'c', 'tsk_1']]);
  });

  it('has no call id when the provider gave an empty one [D1-FRAME-25]', async () => {
    const result = await inventory(tool('a')).dispatch({ id: '', name: 'a', input: {} }, context);
    expect(result.callId).toBeNull();
  });

  it('becomes an error when the tool did not pass, whatever the exit code [D1-FRAME-26] [D1-FRAME-29] [D1-FRAME-34]', async () => {
    const tools = inventory(
      tool('failed', { kind: 'native', call: answering({ status: 'failed', exitCode: 0 }) }),
      tool('passed', { kind: 'shell', call: answering({ exitCode: 3 }) }),
    );
    const failed = await tools.dispatch({ id: '1', name: 'failed', input: {} }, context);
    const passed = await tools.dispatch({ id: '2', name: 'passed', input: {} }, context);
    expect([failed.isError, failed.exitCode, failed.fenceSource]).toEqual([true, 0, 'tool:failed']);
    expect([passed.isError, passed.exitCode, passed.fenceSource]).toEqual([false, 3, 'tool:passed']);
  });

  it("passes on the result's own truncated flag [D1-FRAME-31]", async () => {
    const result = await inventory(tool('a', { call: answering({ truncated: true }) })).dispatch(
      { id: '1', name: 'a', input: {} },
      context,
    );
    expect(result.truncated).toBe(true);
  });

  it('leaves the text of a skill unfenced', async () => {
    const skill = tool('how-to', { kind: 'skill', call: answering({ content: '# How to' }) });
    const result = await inventory(skill).dispatch({ id: '1', name: 'how-to', input: {} }, context);
    expect([result.content, result.fenceSource, result.kind]).toEqual(['# How to', null, 'skill']);
  });

  it('takes empty or null input for no arguments', async () => {
    const strict = tool('strict', { inputSchema: { type: 'object', maxProperties: 0 } });
    for (const input of ['', null, undefined, {}]) {
      const result = await inventory(strict).dispatch({ id: '1', name: 'strict', input }, context);
      expect(result.isError).toBe(false);
    }
  });

  it('rejects with the reason of a signal that is aborted already, and does not call the tool', async () => {
    const reason = new Error('task canceled');
    let called = false;
    const spy = tool('spy', { call: () => ((called = true), Promise.resolve(passed)) });
    const canceled = { ...context, signal: AbortSignal.abort(reason) };
    await expect(inventory(spy).dispatch({ id: '1', name: 'spy', input: {} }, canceled)).rejects.toBe(reason);
    expect(called).toBe(false);
  });
});

describe('a call that never reaches a tool', () => {
  const neverReached = {
    fenceSource: null,
    isError: true,
    exitCode: null,
    truncated: false,
    reached: false,
  };

  it('names the tools there are when its own is unknown', async () => {
    const result = await inventory(tool('b'), tool('a')).dispatch({ id: '1', name: 'c"', input: {} }, context);
    expect(result).toMatchObject(neverReached);
    expect(result).toMatchObject({ toolName: 'c"', kind: 'unknown' });
    expect(result.content).toBe('there is no tool named "c\\""; the tools are a, b');
    const lonely = await inventory().dispatch({ id: '1', name: 'x'.repeat(5000), input: {} }, context);
    expect(lonely.content).toBe(`there is no tool named "${'x'.repeat(100)}…"; there are no tools`);
  });

  it.each([[[]], ['{"path": '], ['"text"'], [7], [true]])('says so for arguments that are %j', async (input) => {
    const result = await inventory(tool('a')).dispatch({ id: '1', name: 'a', input }, context);
    expect(result).toMatchObject(neverReached);
    expect(result.content).toBe('the arguments of a are not a JSON object');
  });

  it('says which number is too large for any tool', async () => {
    const call = { id: 'c1', name: 'a', input: { ids: [null] }, digits: { '/ids/0': '1e400' } };
    const { content, isError } = await inventory(tool('a')).dispatch(call, context);
    expect({ content, isError }).toEqual({
      content:
        'the arguments of a hold a number that is too large for any tool: arguments.ids.0 is 1e400; write a smaller one, or text where the tool takes it',
      isError: true,
    });
  });

  it('lists what does not fit the schema [D1-FRAME-26]', async () => {
    const picky = tool('picky', { inputSchema: { type: 'object', properties: { path: { type: 'string' } } } });
    const result = await inventory(picky).dispatch({ id: '1', name: 'picky', input: { path: 1 } }, context);
    expect(result).toMatchObject(neverReached);
    expect(result.content).toBe('the arguments of picky do not fit its input schema:\narguments.path: must be string');
  });

  it('ends in the same way when the tool could not start anything', async () => {
    const absent = tool('absent', {
      kind: 'shell',
      call: answering({ status: 'failed', content: 'no such command', exitCode: 127, truncated: true, reached: false }),
    });
    const result = await inventory(absent).dispatch({ id: '1', name: 'absent', input: {} }, context);
    expect(result).toMatchObject({ ...neverReached, kind: 'shell', content: 'no such command' });
  });

  it('cuts a result that would take hundreds of megabytes in frame, trace and model', async () => {
    const big = inventory(
      tool('nul', { call: answering({ content: '\0'.repeat(30_000_000), output: '\0'.repeat(30_000_000) }) }),
      tool('text', { call: answering({ content: 'x'.repeat(200_000_000) }) }),
      tool('fits', { call: answering({ content: `${'"'.repeat(8_388_607)}ab` }) }),
      tool('halves', { call: answering({ content: '\u{1f600}'.repeat(4_194_305) }) }),
    );
    const kept = Math.floor(16_777_216 / 6);
    const note = (count: number): string =>
      `\n[${count} more characters are not shown: as JSON, a result has at most 16777216 bytes]`;
    const nul = await big.dispatch({ id: 'c', name: 'nul', input: {} }, context);
    expect(nul.unfenced === `${'\0'.repeat(kept)}${note(30_000_000 - kept)}`).toBe(true);
    expect([nul.output === nul.unfenced, nul.truncated, nul.isError]).toEqual([true, true, false]);
    const text = await big.dispatch({ id: 'c', name: 'text', input: {} }, context);
    expect(text.unfenced === `${'x'.repeat(16_777_216)}${note(200_000_000 - 16_777_216)}`).toBe(true);
    expect(text.content.length).toBeLessThan(16_777_216 + 300);
    const fits = await big.dispatch({ id: 'c', name: 'fits', input: {} }, context);
    expect([fits.unfenced.length, fits.truncated]).toEqual([8_388_609, false]);
    const long = tool('text', { call: answering({ content: 'x'.repeat(200_000_000) }) });
    const careful = new Inventory([long], steppingClock(), { cutBefore: (given) => given.slice(0, -10) });
    const cut = await careful.dispatch({ id: 'c', name: 'text', input: {} }, context);
    expect(cut.unfenced === `${'x'.repeat(16_777_206)}${note(200_000_000 - 16_777_206)}`).toBe(true);
    const halves = await big.dispatch({ id: 'c', name: 'halves', input: {} }, context);
    expect(halves.unfenced.slice(-120)).toBe(`${'\u{1f600}'.repeat(60)}${note(2)}`.slice(-120));
  });
});
