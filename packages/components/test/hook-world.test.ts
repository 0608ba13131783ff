import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Component } from '../src/component.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, noGrants, testHost, toolCall } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

const host = testHost(fixtureCache);
const session = { sessionId: 'ses_1', capsule: 'c', version: '1.0.0' };
const task = { session, taskId: 'tsk_1', contextId: undefined, origin: 'user', trusted: true, attempt: 1 };
let hook: Component;

beforeAll(async () => {
  hook = host.open(await fixtureComponent('probe-hook'), noGrants);
  await tell('on-session-start', session);
}, compileTimeoutMs);

afterAll(() => host.close());

async function tell(name: string, event: unknown): Promise<unknown> {
  return hook.call(toolCall({}, { export: `svc:hook/lifecycle@0.1.0#${name}`, args: [event] }));
}

describe('a hook', () => {
  it('gives what it commits as the bare value of its result', async () => {
    const call = { task, turn: 1, callId: undefined, arguments: '{}' };
    expect(await tell('on-tool-call', { ...call, tool: 'allowed' })).toEqual({ tag: 'proceed' });
    expect(await tell('on-tool-call', { ...call, tool: 'other' })).toEqual({ tag: 'deny', val: 'not other' });
    expect(await tell('on-stage', { session, tools: [] })).toEqual({
      tag: 'write-manifests',
      val: [{ name: 'a.json', content: '{}' }],
    });
  });

  it('gives back typed messages', async () => {
    const text = (text: string): unknown => ({ tag: 'text', val: text });
    const messages = [
      { tag: 'user', val: [text('one')] },
      { tag: 'assistant', val: [{ tag: 'thinking', val: { text: 'two', signature: undefined } }] },
    ];
    const event = { task, messages, estimatedTokens: 10n, maxTokens: 20n };
    expect(await tell('on-compaction', event)).toEqual({ tag: 'replace-context', val: messages.slice(1) });
  });

  it('gives a failure of its own as an error value and lives on', async () => {
    expect(await tell('on-task-start', { task, text: 'x' })).toEqual({ tag: 'err', val: 'the hook failed' });
    expect(await tell('on-session-end', { session, status: 'ok' })).toBeUndefined();
  });
});
