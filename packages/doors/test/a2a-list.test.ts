import { describe, expect, it } from 'vitest';

import { hangs, says } from '../../../test/support/fake-driver.ts';
import { useA2aCapsules, userMessage, type A2aCapsule, type Json } from './a2a-capsule.ts';

const open = useA2aCapsules();

/** Tasks that end one after another, a second apart, the oldest first. */
async function ended(capsule: A2aCapsule, contexts: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const contextId of contexts) {
    const { task } = await capsule.result('SendMessage', userMessage(`of ${contextId}`, { contextId }));
    ids.push(task.id);
    capsule.fixture.clock.advance(1000);
  }
  return ids;
}

const idsOf = (list: Json): string[] => list['tasks'].map((task: Json) => task['id']);

describe('ListTasks', () => {
  it('gives pages of what changed last first, without artifacts and history unless they are asked for', async () => {
    const capsule = (await open({ turns: ['1', '2', '3', '4', '5'].map(says) })).run();
    const ids = (await ended(capsule, ['a', 'b', 'a', 'b', 'a'])).toReversed();
    const first = await capsule.result('ListTasks', { pageSize: 2 });
    expect(first).toMatchObject({ pageSize: 2, totalSize: 5 });
    expect(idsOf(first)).toEqual(ids.slice(0, 2));
    expect(first['tasks'][0]).not.toHaveProperty('artifacts');
    expect(first['tasks'][0]).not.toHaveProperty('history');
    const second = await capsule.result('ListTasks', {
      pageSize: 2,
      pageToken: first['nextPageToken'],
      includeArtifacts: true,
      historyLength: 1,
    });
    expect(idsOf(second)).toEqual(ids.slice(2, 4));
    expect(second['tasks'][0]).toMatchObject({
      artifacts: [{ parts: [{ text: '3' }] }],
      history: [{ parts: [{ text: 'of a' }] }],
    });
    const last = await capsule.result('ListTasks', { pageSize: 2, pageToken: second['nextPageToken'] });
    expect([idsOf(last), last['nextPageToken']]).toEqual([ids.slice(4), '']);
  });

  it('skips nothing that stays where it is while other tasks change', async () => {
    const capsule = (await open({ turns: ['1', '2', '3', '4'].map(says) })).run();
    const ids = (await ended(capsule, ['a', 'a', 'a'])).toReversed();
    const first = await capsule.result('ListTasks', { pageSize: 1 });
    await ended(capsule, ['a']);
    const rest = await capsule.result('ListTasks', { pageToken: first['nextPageToken'] });
    expect(idsOf(rest)).toEqual(ids.slice(1));
  });

  it('filters by context, state and time', async () => {
    const capsule = (await open({ turns: ['1', '2'].map(says).concat() })).run();
    const [one = '', two = ''] = await ended(capsule, ['a', 'b']);
    expect(idsOf(await capsule.result('ListTasks', { contextId: 'a' }))).toEqual([one]);
    expect(idsOf(await capsule.result('ListTasks', { contextId: 'none' }))).toEqual([]);
    expect(idsOf(await capsule.result('ListTasks', { status: 'TASK_STATE_WORKING' }))).toEqual([]);
    expect(idsOf(await capsule.result('ListTasks', { status: 'TASK_STATE_COMPLETED' }))).toEqual([two, one]);
    const { status } = await capsule.result('GetTask', { id: two });
    expect(idsOf(await capsule.result('ListTasks', { statusTimestampAfter: status.timestamp }))).toEqual([two]);
    expect(idsOf(await capsule.result('ListTasks', { statusTimestampAfter: '2999-01-01T00:00:00Z' }))).toEqual([]);
  });

  it('knows tasks that wait and the one that works', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const configuration = { returnImmediately: true };
    for (const text of ['x', 'y']) await capsule.result('SendMessage', { ...userMessage(text), configuration });
    const { tasks } = await capsule.result('ListTasks');
    expect(tasks.map((task: Json) => task['status'].state).toSorted()).toEqual([
      'TASK_STATE_SUBMITTED',
      'TASK_STATE_WORKING',
    ]);
  });
});
