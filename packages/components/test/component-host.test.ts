import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Component } from '../src/component.ts';
import type { ComponentHost } from '../src/component-host.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, faultOf, noGrants, order, testHost } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

let host: ComponentHost;
let tool: Component;

beforeAll(async () => {
  host = testHost(fixtureCache);
  tool = host.open(await fixtureComponent('probe-tool'), noGrants);
  await order(tool, { op: 'echo' });
}, compileTimeoutMs);

afterAll(async () => {
  await host.close();
});

describe('a component', () => {
  it('answers a call', async () => {
    expect(await order(tool, { op: 'echo', n: 1 })).toBe('{"op":"echo","n":1}');
  });

  it('can be made ready before its first call', async () => {
    const early = host.open(await fixtureComponent('probe-tool'), noGrants);
    early.warm();
    early.warm();
    expect(await order(early, { op: 'count' })).toBe('1');
    await early.close();
    early.warm();
  });

  it('says at its first call that it cannot be made ready', async () => {
    const broken = host.open({ name: 'broken', wasm: '/nowhere', sha256: '0'.repeat(64) }, noGrants);
    broken.warm();
    const fault = await faultOf(order(broken, { op: 'echo' }));
    expect({ kind: fault.kind, message: fault.message }).toEqual({
      kind: 'unavailable',
      message: 'the component of broken cannot be used: /nowhere cannot be read',
    });
    await broken.close();
  });

  it('keeps its instance between calls', async () => {
    const before = Number(await order(tool, { op: 'count' }));
    expect(await order(tool, { op: 'count' })).toBe(String(before + 1));
  });

  it('gives its chunks to the runtime in order and before the call returns', async () => {
    const seen: string[] = [];
    const host = {
      'svc:text/chunks@0.1.0#emit-chunk': (text: string) => seen.push(text),
      'svc:text/chunks@0.1.0#emit-thinking-chunk': (text: string) => seen.push(`(${text})`),
    };
    const answer = order(tool, { op: 'emit', texts: ['a', 'b', 'c'] }, { host }).then((text) => [...seen, text]);
    expect(await answer).toEqual(['a', 'b', 'c', '(thought)', 'emitted']);
  });

  it('waits for the answer of the runtime', async () => {
    const host = { 'svc:task/task@0.1.0#request-input': async (prompt: string) => `re ${prompt}` };
    expect(await order(tool, { op: 'ask', prompt: 'who?' }, { host })).toBe('answered: re who?');
  });

  it('gets the reason when the runtime has no answer', async () => {
    const host = { 'svc:task/task@0.1.0#request-input': async () => Promise.reject(new Error('nobody is there')) };
    expect(await order(tool, { op: 'ask', prompt: 'who?' }, { host })).toBe('refused: nobody is there');
  });

  it('traps with what it wrote and gets a fresh instance', async () => {
    await order(tool, { op: 'count' });
    const fault = await faultOf(order(tool, { op: 'fail', message: 'the reason' }));
    expect({ kind: fault.kind, said: fault.message.includes('the reason') }).toEqual({ kind: 'trap', said: true });
    expect(await order(tool, { op: 'count' })).toBe('1');
  });
});
