import { describe, expect, it } from 'vitest';

import { ComponentFault, type ComponentFaultKind } from '@svc/components/component.ts';
import { createComponentDriver, DriverRequests } from '../../src/model/component-driver.ts';
import type { DriverOutcome, InferenceCall, InferenceRequest } from '../../src/model/driver.ts';
import { fakeComponent, type Guest } from '../../../components/test/fake-component.ts';
import { noToolCalls } from '../../../../test/support/quiet-calls.ts';

const request: InferenceRequest = {
  model: 'm1',
  system: 's',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
  tools: [],
  maxTokens: 10,
};

const response = {
  content: [{ tag: 'text', val: 'hi' }],
  stopReason: { tag: 'end-turn' },
  usage: undefined,
  continuationId: undefined,
};

function driverOf(guest: Guest) {
  const component = fakeComponent(guest);
  const driver = createComponentDriver({
    requests: new DriverRequests(),
    label: 'some-driver',
    component,
    deadlineMs: 20_000,
    endpoint: 'https://api.example.test',
    apiKeyPlaceholder: 'key_1',
    config: { temperature: 0 },
    redact: (text) => text.replaceAll('sk-1', '[secret]'),
  });
  return { driver, component };
}

function call(over: Partial<InferenceCall> = {}): InferenceCall {
  return { signal: new AbortController().signal, onText: () => {}, onThinking: () => {}, ...noToolCalls, ...over };
}

async function infer(guest: Guest, over: Partial<InferenceCall> = {}): Promise<DriverOutcome> {
  const task = driverOf(guest).driver.openTask();
  const outcome = await task.infer(request, call(over));
  await task.close();
  return outcome;
}

describe('a component driver', () => {
  it('takes a key that the provider repeats out of a failure', async () => {
    expect(await infer(() => Promise.resolve({ tag: 'err', val: 'no such key: sk-1' }))).toEqual({
      kind: 'failed',
      error: 'no such key: [secret]',
    });
    const refused = { ...response, stopReason: { tag: 'error', val: 'sk-1 is revoked' } };
    expect(await infer(() => Promise.resolve(refused))).toMatchObject({ response: { error: '[secret] is revoked' } });
  });

  it('gets the request as the record of its world', async () => {
    const { driver, component } = driverOf(() => Promise.resolve(response));
    expect(driver.label).toBe('some-driver');
    expect(await driver.openTask().infer(request, call())).toEqual({
      kind: 'response',
      response: { content: [{ type: 'text', text: 'hi' }], stopReason: 'end_turn' },
    });
    expect(component.calls).toMatchObject([
      {
        export: 'svc:driver/inference@0.1.0#infer',
        args: [
          {
            model: 'm1',
            endpoint: 'https://api.example.test',
            apiKey: 'key_1',
            config: '{"temperature":0}',
            messages: [{ tag: 'user', val: [{ tag: 'text', val: 'hello' }] }],
          },
        ],
        deadlineMs: 20_000,
      },
    ]);
    await driver.close();
    expect(component.closed()).toBe(true);
  });

  it('streams text and thinking', async () => {
    const seen: string[] = [];
    const guest: Guest = async ({ imports }) => {
      await imports('svc:text/chunks@0.1.0#emit-thinking-chunk')('hm');
      await imports('svc:text/chunks@0.1.0#emit-chunk')('hi');
      return response;
    };
    await infer(guest, { onText: (text) => seen.push(`text ${text}`), onThinking: (text) => seen.push(text) });
    expect(seen).toEqual(['hm', 'text hi']);
  });

  it('has failed with the error it returns', async () => {
    expect(await infer(() => Promise.resolve({ tag: 'err', val: 'HTTP 529' }))).toEqual({
      kind: 'failed',
      error: 'HTTP 529',
    });
    expect(await infer(() => Promise.resolve({ tag: 'err', val: '' }))).toEqual({
      kind: 'failed',
      error: 'the driver failed without a reason',
    });
  });

  it.each([[undefined], [7], [{}], [{ content: [] }]])('has failed when it answers %j', async (answer) => {
    expect(await infer(() => Promise.resolve(answer))).toEqual({
      kind: 'failed',
      error: 'the driver answered something that is not a response',
    });
  });

  it.each<[ComponentFaultKind, DriverOutcome]>([
    ['unavailable', { kind: 'unavailable', error: 'why' }],
    ['trap', { kind: 'failed', error: 'the driver broke off: why', trapped: true }],
    ['deadline', { kind: 'failed', error: 'the driver did not answer within 20 s: capabilities.limits.deadline' }],
    ['memory', { kind: 'failed', error: 'the driver used up its memory', trapped: true }],
  ])('reports the fault %s', async (kind, outcome) => {
    expect(await infer(() => Promise.reject(new ComponentFault(kind, 'why')))).toEqual(outcome);
  });

  it('settles when it is canceled', async () => {
    const cancel = new AbortController();
    const outcome = infer(() => new Promise(() => {}), { signal: cancel.signal });
    cancel.abort(new Error('task canceled'));
    expect(await outcome).toEqual({ kind: 'failed', error: 'the driver was canceled' });
  });
});
