import { describe, expect, it } from 'vitest';

import type { Component, ComponentCall } from '../../src/components/component.ts';

export const toolExport = 'svc:tool/run@0.1.0#run';

/**
 * What every `Component` does, shown with a guest of the tool world that obeys the `do` of its arguments: `echo` answers with
 * them, `chunks` emits text `a`, thinking `b` and text `c`, `ask` passes on the answer to `why?` or fails with the refusal,
 * `hang` never returns, `trap` traps.
 */
export function describeComponentContract(name: string, open: () => Promise<Component>): void {
  async function withComponent<T>(work: (component: Component) => Promise<T>): Promise<T> {
    const component = await open();
    try {
      return await work(component);
    } finally {
      await component.close();
    }
  }

  describe(`the component contract, kept by ${name}`, () => {
    it('passes records, and options that are none', () =>
      withComponent(async (component) => {
        const text = JSON.stringify({ do: 'echo', note: 'ä€😀' });
        expect(await component.call(toolCall(text, {}, { callId: 'c1' }))).toEqual({
          status: 'passed',
          content: `c1: ${text}`,
          truncated: false,
        });
        expect(await component.call(toolCall(text))).toEqual({
          status: 'passed',
          content: `none: ${text}`,
          truncated: false,
        });
      }));

    it('calls functions of the runtime in their order', () =>
      withComponent(async (component) => {
        const seen: string[] = [];
        const host = {
          'svc:text/chunks@0.1.0#emit-chunk': (text: string) => void seen.push(`text ${text}`),
          'svc:text/chunks@0.1.0#emit-thinking-chunk': (text: string) => void seen.push(`thinking ${text}`),
        };
        await component.call(toolCall('{"do":"chunks"}', host));
        expect(seen).toEqual(['text a', 'thinking b', 'text c']);
      }));

    it('gives the guest the answer of the runtime, or the message of its rejection', () =>
      withComponent(async (component) => {
        const asked: string[] = [];
        const answering = {
          'svc:task/task@0.1.0#request-input': (prompt: string) => {
            asked.push(prompt);
            return Promise.resolve('because');
          },
        };
        const refusing = { 'svc:task/task@0.1.0#request-input': () => Promise.reject(new Error('input-timeout')) };
        expect(await component.call(toolCall('{"do":"ask"}', answering))).toMatchObject({
          status: 'passed',
          content: 'because',
        });
        expect(asked).toEqual(['why?']);
        expect(await component.call(toolCall('{"do":"ask"}', refusing))).toMatchObject({
          status: 'failed',
          content: 'input-timeout',
        });
      }));

    it.each([
      ['trap', { do: 'trap' }],
      ['deadline', { do: 'hang' }],
    ])('faults with %s, and serves the next call', (kind, args) =>
      withComponent(async (component) => {
        const call = toolCall(JSON.stringify(args), {}, { deadlineMs: kind === 'deadline' ? 300 : 30_000 });
        await expect(component.call(call)).rejects.toMatchObject({ name: 'ComponentFault', kind });
        expect(await component.call(toolCall('{"do":"echo"}'))).toMatchObject({ status: 'passed' });
      }),
    );

    it('faults with canceled when the signal is aborted, before the call or during it', () =>
      withComponent(async (component) => {
        const cancel = new AbortController();
        const hanging = component.call(toolCall('{"do":"hang"}', {}, { signal: cancel.signal }));
        cancel.abort(new Error('task canceled'));
        await expect(hanging).rejects.toMatchObject({ name: 'ComponentFault', kind: 'canceled' });
        const late = component.call(toolCall('{"do":"echo"}', {}, { signal: cancel.signal }));
        await expect(late).rejects.toMatchObject({ name: 'ComponentFault', kind: 'canceled' });
        expect(await component.call(toolCall('{"do":"echo"}'))).toMatchObject({ status: 'passed' });
      }));

    it('runs calls one after another', () =>
      withComponent(async (component) => {
        const order: string[] = [];
        let answer: (text: string) => void = () => {};
        const waiting = new Promise<string>((resolve) => {
          answer = resolve;
        });
        const first = component
          .call(toolCall('{"do":"ask"}', { 'svc:task/task@0.1.0#request-input': () => waiting }))
          .then(() => order.push('first'));
        const second = component.call(toolCall('{"do":"echo"}')).then(() => order.push('second'));
        answer('now');
        await Promise.all([first, second]);
        expect(order).toEqual(['first', 'second']);
      }));
  });
}

interface CallOptions extends Partial<Pick<ComponentCall, 'deadlineMs' | 'signal'>> {
  readonly callId?: string;
}

function toolCall(text: string, host: ComponentCall['host'] = {}, options: CallOptions = {}): ComponentCall {
  const { callId, deadlineMs = 30_000, signal = new AbortController().signal } = options;
  return { export: toolExport, args: [{ arguments: text, callId }], host, deadlineMs, signal };
}
