/** Fails a test file that leaves its process other than it was: the next file runs in the same one. */

import { deepEqual } from 'node:assert/strict';

import { afterAll, vi } from 'vitest';

/** What the tests of one file could leave behind for those of another. */
function stateOfProcess(): object {
  const heard = process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
  return {
    folder: process.cwd(),
    variables: { ...process.env },
    mask: process.umask(),
    exitCode: process.exitCode,
    listeners: Object.fromEntries(heard),
    // Libraries keep something under such names once they are loaded.
    globals: Object.getOwnPropertyNames(globalThis)
      .filter((name) => !/^(?:__|\d+$)/.test(name))
      .sort(),
    fakeTimers: vi.isFakeTimers(),
  };
}

const before = stateOfProcess();

afterAll(() => {
  deepEqual({ leftBehind: stateOfProcess() }, { leftBehind: before });
});
