import { expect, it } from 'vitest';

import { closeTogether } from './close-all.ts';

it('closeTogether begins with all of them, waits for all, and rejects with what the first one failed with', async () => {
  const said: string[] = [];
  let endFirst = (): void => {};
  const closing = closeTogether([
    async () => {
      said.push('first begins');
      await new Promise<void>((resolve) => {
        endFirst = resolve;
      });
      said.push('first ends');
    },
    async () => {
      said.push('second begins');
      await Promise.reject(new Error('second'));
    },
    async () => {
      said.push('third begins');
      endFirst();
      await Promise.reject(new Error('third'));
    },
  ]);
  await expect(closing).rejects.toThrow('second');
  expect(said).toEqual(['first begins', 'second begins', 'third begins', 'first ends']);
});
