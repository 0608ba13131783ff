import { createHook } from 'node:async_hooks';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { componentProcesses } from '../../../test/support/component-processes.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, faultOf, noGrants, order, testHost } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

/** The engine's side of a process or of a pipe to it. */
interface Handle {
  hasRef(): boolean;
}

const handles: Handle[] = [];
const watch = createHook({
  init: (_id, type, _trigger, resource) => {
    if (type === 'PROCESSWRAP' || type === 'PIPEWRAP') handles.push(resource as Handle);
  },
});

beforeAll(() => void watch.enable());
afterAll(() => void watch.disable());

function isHeld(): boolean {
  return handles.some((handle) => handle.hasRef());
}

/** Settles once every promise that could settle has, and before the event loop hears of the end of a process. */
async function promisesSettled(): Promise<void> {
  await new Promise<void>((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}

it(
  'a process that waits for a busy component to close is kept alive by it, and by an idle one it is not',
  async () => {
    const host = testHost(fixtureCache);
    const tool = host.open(await fixtureComponent('probe-tool'), noGrants);
    await order(tool, { op: 'echo' });
    expect(handles.length).toBeGreaterThan(0);
    expect(isHeld()).toBe(false);
    let closing = Promise.resolve();
    const heldWhileClosing = new Promise<boolean>((resolve) => {
      const close = async (): Promise<void> => {
        closing = host.close();
        await promisesSettled();
        resolve(isHeld());
      };
      const call = order(
        tool,
        { op: 'loop', first: 'running' },
        { host: { 'svc:text/chunks@0.1.0#emit-chunk': () => void close() } },
      );
      void faultOf(call);
    });
    expect(await heldWhileClosing).toBe(true);
    await closing;
    expect(componentProcesses()).toEqual([]);
  },
  compileTimeoutMs,
);
