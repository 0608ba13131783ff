import { describe, expect, it } from 'vitest';

import { ComponentFault, type ComponentFaultKind } from '@svc/components/component.ts';
import type { ToolOutcome } from '../../src/tools/tool.ts';
import { createWasmTool } from '../../src/tools/wasm-tool.ts';
import { fakeComponent, type Guest } from '../../../components/test/fake-component.ts';
import { recordingContext } from './tool-context.ts';

const output = { status: 'passed', content: 'fine', truncated: false };

function toolOf(guest: Guest, deadlineMs = 20_000) {
  const component = fakeComponent(guest);
  const tool = createWasmTool({
    name: 'odd',
    description: 'd',
    inputSchema: { type: 'object' },
    component,
    deadlineMs,
  });
  return { tool, component };
}

function failed(content: string): ToolOutcome {
  return { status: 'failed', content, exitCode: null, truncated: false };
}

describe('a component tool', () => {
  it('gets the arguments as JSON text and the call id, and answers with its output', async () => {
    const { tool, component } = toolOf(() => Promise.resolve({ status: 'failed', content: 'no', truncated: true }));
    expect(await tool.call({ path: 'a' }, recordingContext())).toEqual({
      status: 'failed',
      content: 'no',
      exitCode: null,
      truncated: true,
    });
    expect(component.calls).toMatchObject([
      {
        export: 'svc:tool/run@0.1.0#run',
        args: [{ arguments: '{"path":"a"}', callId: 'call_1' }],
        deadlineMs: 20_000,
      },
    ]);
    await tool.call({}, recordingContext({ callId: null }));
    expect(component.calls[1]?.args).toEqual([{ arguments: '{}', callId: undefined }]);
  });

  it('streams text and thinking', async () => {
    const { tool } = toolOf(async ({ imports }) => {
      await imports('svc:text/chunks@0.1.0#emit-chunk')('a');
      await imports('svc:text/chunks@0.1.0#emit-thinking-chunk')('b');
      return output;
    });
    const context = recordingContext();
    await tool.call({}, context);
    expect([context.texts, context.thoughts]).toEqual([['a'], ['b']]);
  });

  it('asks for input and gets the answer', async () => {
    const { tool } = toolOf(async ({ imports }) => ({
      ...output,
      content: await imports('svc:task/task@0.1.0#request-input')('which?'),
    }));
    const context = recordingContext({ answer: { kind: 'answered', text: 'this one' } });
    expect(await tool.call({}, context)).toMatchObject({ status: 'passed', content: 'this one' });
    expect(context.prompts).toEqual(['which?']);
  });

  it('has failed when the input wait timed out, whatever it makes of that', async () => {
    const { tool } = toolOf(({ imports }) =>
      imports('svc:task/task@0.1.0#request-input')('which?').catch((error: Error) => ({
        ...output,
        content: error.message,
      })),
    );
    expect(await tool.call({}, recordingContext())).toEqual(failed('input-timeout'));
  });

  it.each<[ComponentFaultKind, string]>([
    ['trap', 'the tool odd broke off: why'],
    ['deadline', 'the tool odd did not answer within 20 s'],
    ['memory', 'the tool odd used up its memory'],
    ['canceled', 'the tool odd was stopped: why'],
  ])('has failed after the fault %s', async (kind, content) => {
    const { tool } = toolOf(() => Promise.reject(new ComponentFault(kind, 'why')));
    expect(await tool.call({}, recordingContext())).toEqual(failed(content));
  });

  it('fails as unavailable when it was never reached', async () => {
    const { tool } = toolOf(() => Promise.reject(new ComponentFault('unavailable', 'it does not compile')));
    expect(await tool.call({}, recordingContext())).toEqual({
      ...failed('the tool odd cannot be used: it does not compile'),
      reached: false,
    });
  });

  it.each([[undefined], ['fine'], [{}], [{ ...output, status: 'done' }], [{ ...output, content: 7 }]])(
    'has failed when it answers %j',
    async (answer) => {
      const { tool } = toolOf(() => Promise.resolve(answer));
      expect(await tool.call({}, recordingContext())).toEqual(
        failed('the tool odd answered something that is not a tool output'),
      );
    },
  );

  it('rejects with the reason of a cancel', async () => {
    const reason = new Error('task canceled');
    const cancel = new AbortController();
    const { tool } = toolOf(() => new Promise(() => {}));
    const call = tool.call({}, recordingContext({ signal: cancel.signal }));
    cancel.abort(reason);
    await expect(call).rejects.toBe(reason);
  });
});
