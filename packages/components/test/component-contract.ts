import { describe, expect, it } from 'vitest';

import type { Component, ComponentCall } from '../src/component.ts';

/**
 * What every `Component` does, shown with a guest of the tool world that does the `op` of its arguments: `echo` answers with
 * them, `emit` emits its `texts` and then thinking, `ask` puts its `prompt` to the runtime and answers `answered: …` or
 * `refused: …`, `loop` never returns, `fail` traps. `open` gives a component of its own.
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
    it('passes records both ways', () =>
      withComponent(async (component) => {
        const note = 'ä€😀\0';
        expect(await component.call(toolCall({ op: 'echo', note }))).toEqual({
          status: 'passed',
          content: JSON.stringify({ op: 'echo', note }),
          truncated: false,
        });
      }));

    it('calls functions of the runtime in their order, before it returns', () =>
      withComponent(async (component) => {
        const seen: string[] = [];
        const host = {
          'svc:text/chunks@0.1.0#emit-chunk': (text: string) => void seen.push(`text ${text}`),
          'svc:text/chunks@0.1.0#emit-thinking-chunk': (text: string) => void seen.push(`thinking ${text}`),
        };
        await component.call(toolCall({ op: 'emit', texts: ['a', 'b'] }, { host }));
        expect(seen).toEqual(['text a', 'text b', 'thinking thought']);
      }));

    it('gives the guest the answer of the runtime, or the message of its rejection', () =>
      withComponent(async (component) => {
        const asked: string[] = [];
        const answering = async (prompt: string): Promise<string> => {
          asked.push(prompt);
          return Promise.resolve('because');
        };
        const refusing = (): Promise<string> => Promise.reject(new Error('input-timeout'));
        expect(await ask(component, answering)).toMatchObject({ content: 'answered: because' });
        expect(asked).toEqual(['why?']);
        expect(await ask(component, refusing)).toMatchObject({ content: 'refused: input-timeout' });
      }));

    it.each([
      ['trap', { op: 'fail', message: 'on purpose' }, 30_000],
      ['deadline', { op: 'loop' }, 300],
    ])('faults with %s, and serves the next call', (kind, order, deadlineMs) =>
      withComponent(async (component) => {
        await expect(component.call(toolCall(order, { deadlineMs }))).rejects.toMatchObject({
          name: 'ComponentFault',
          kind,
        });
        expect(await component.call(toolCall({ op: 'echo' }))).toMatchObject({ status: 'passed' });
      }),
    );

    it('faults with canceled when the signal is aborted, before the call or during it', () =>
      withComponent(async (component) => {
        const cancel = new AbortController();
        const looping = component.call(toolCall({ op: 'loop' }, { signal: cancel.signal }));
        cancel.abort(new Error('task canceled'));
        await expect(looping).rejects.toMatchObject({ name: 'ComponentFault', kind: 'canceled' });
        const late = component.call(toolCall({ op: 'echo' }, { signal: cancel.signal }));
        await expect(late).rejects.toMatchObject({ name: 'ComponentFault', kind: 'canceled' });
        expect(await component.call(toolCall({ op: 'echo' }))).toMatchObject({ status: 'passed' });
      }));

    it('runs calls one after another', () =>
      withComponent(async (component) => {
        const order: string[] = [];
        let answer: (text: string) => void = () => {};
        const waiting = new Promise<string>((resolve) => {
          answer = resolve;
        });
        const first = ask(component, () => waiting).then(() => order.push('first'));
        const second = component.call(toolCall({ op: 'echo' })).then(() => order.push('second'));
        answer('now');
        await Promise.all([first, second]);
        expect(order).toEqual(['first', 'second']);
      }));
  });
}

function ask(component: Component, answer: (prompt: string) => Promise<string>): Promise<unknown> {
  const host = { 'svc:task/task@0.1.0#request-input': answer };
  return component.call(toolCall({ op: 'ask', prompt: 'why?' }, { host }));
}

function toolCall(order: object, over: Partial<ComponentCall> = {}): ComponentCall {
  return {
    export: 'svc:tool/run@0.1.0#run',
    args: [{ arguments: JSON.stringify(order), callId: undefined }],
    host: {},
    deadlineMs: 30_000,
    signal: new AbortController().signal,
    ...over,
  };
}
