import { createHook } from 'node:async_hooks';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, faultOf, fixtureCache, noGrants, order, testHost } from './support/hosted-tool.ts';

/** The engine's side of a thread. */
interface ThreadHandle {
  hasRef(): boolean;
}

const threads: ThreadHandle[] = [];
const watch = createHook({
  init: (_id, type, _trigger, resource) => {
    if (type === 'WORKER') threads.push(resource as ThreadHandle);
  },
});

beforeAll(() => void watch.enable());
afterAll(() => void watch.disable());

/** Settles once every promise that could settle has, and before the event loop hears of a thread's end. */
async function promisesSettled(): Promise<void> {
  await new Promise<void>((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}

it(
  'a process that waits for a busy component to close is kept alive by it, and by an idle one it is not',
  async () => {
    const host = testHost(fixtureCache);
    const tool = host.open(await fixtureComponent('probe-tool'), noGrants);
    await order(tool, { op: 'echo' });
    expect(threads.map((thread) => thread.hasRef())).toEqual([false]);
    let closing = Promise.resolve();
    const heldWhileClosing = new Promise<boolean[]>((resolve) => {
      const close = async (): Promise<void> => {
        closing = host.close();
        await promisesSettled();
        resolve(threads.map((thread) => thread.hasRef()));
      };
      const call = order(
        tool,
        { op: 'loop', first: 'running' },
        { host: { 'svc:text/chunks@0.1.0#emit-chunk': () => void close() } },
      );
      void faultOf(call);
    });
    expect(await heldWhileClosing).toEqual([true]);
    await closing;
  },
  compileTimeoutMs,
);
