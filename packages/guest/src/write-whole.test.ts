import { expect, it } from 'vitest';

import { writeWhole } from './write-whole.ts';

it('writeWhole writes to a stream no more than the host has room for, and waits without room', () => {
  const told: string[] = [];
  const rooms = [0, 3, 0, 0, 100];
  let room = 0;
  writeWhole(
    {
      checkWrite: () => (room = rooms.shift() ?? 0),
      write: (contents) => {
        if (contents.length > room) throw new Error('more than the host allowed');
        told.push(new TextDecoder().decode(contents));
      },
      subscribe: () => ({
        block: () => void told.push('waits'),
        [Symbol.dispose]: () => void told.push('done waiting'),
      }),
    },
    new TextEncoder().encode('one line\n'),
  );
  expect(told).toEqual(['waits', 'done waiting', 'one', 'waits', 'done waiting', 'waits', 'done waiting', ' line\n']);
});
