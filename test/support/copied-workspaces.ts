/** Makes what many tests of a file begin with once, and copies it for each. */

import { afterAll, afterEach } from 'vitest';

import { copyWorkspace, type Workspace } from './workspace.ts';

/** Gives copies of what `make` made for this key, each gone after its test. What is made must be no test's own to remove. */
export function useCopies(): (key: string, make: () => Promise<Workspace>) => Promise<Workspace> {
  const originals = new Map<string, Promise<Workspace>>();
  const copies: Workspace[] = [];
  afterEach(() => {
    for (const copy of copies.splice(0)) copy.remove();
  });
  afterAll(async () => {
    for (const original of originals.values()) (await original).remove();
  });
  return async (key, make) => {
    const original = originals.get(key) ?? make();
    originals.set(key, original);
    try {
      const copy = copyWorkspace(await original);
      copies.push(copy);
      return copy;
    } catch (error) {
      // Its next try makes it anew.
      originals.delete(key);
      throw error;
    }
  };
}
