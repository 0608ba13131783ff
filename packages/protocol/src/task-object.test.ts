import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, optional, text, wired } from '../test/both-ways.ts';
import { decodeTask, encodeTask, parseTaskId } from './task-object.ts';

describe('a task object', () => {
  it('has the shape of a task', () => {
    const facts = { id: text, contextId: text, state: text, message: optional, prompt: optional, response: optional };
    bothWays(fc.record(facts), (each) => decodeTask(wired(encodeTask(each))));
    const told = { id: 't', contextId: 'c', state: 'completed', message: 'session ended', prompt: null, response: 'a' };
    expect(JSON.stringify(encodeTask(told))).toBe(
      '{"id":"t","contextId":"c","status":{"state":"completed","message":"session ended"},"artifacts":[{"name":"response","parts":[{"text":"a"}]}]}',
    );
    for (const odd of [null, [], { id: 't' }, { id: 1, status: { state: 'a' } }, { id: 't', status: { state: 1 } }]) {
      expect(decodeTask(odd)).toBeNull();
    }
    const parts = [{ text: 'a' }, { later: 1 }, 5, { text: 'b' }];
    const several = { id: 't', status: { state: 's' }, artifacts: [5, { name: 'response', parts }] };
    expect(decodeTask(several)).toMatchObject({ contextId: '', message: null, prompt: null, response: 'a\nb' });
  });

  it('has the id of the task', () => {
    expect(parseTaskId(undefined)).toEqual({ kind: 'id', id: undefined });
    expect(parseTaskId({ id: 't' })).toEqual({ kind: 'id', id: 't' });
    expect(parseTaskId([])).toEqual({ kind: 'invalid', problem: 'params must be an object' });
    expect(parseTaskId({ id: 1 })).toEqual({ kind: 'invalid', problem: 'id must be a string' });
  });
});
