import { expect, it } from 'vitest';

import { Cell } from './cell.ts';
import { type Loaded, loadInTurn } from './load-in-turn.ts';

/** Loads whose answers the test gives, in the order in which they were asked for. */
class Answers {
  readonly asked: ((value: number | Error) => Promise<void>)[] = [];

  readonly load = async (): Promise<number> =>
    await new Promise((resolve, reject) => {
      this.asked.push(async (value) => {
        if (value instanceof Error) reject(value);
        else resolve(value);
        // What waits for it goes on before the test does.
        await new Promise((next) => setImmediate(next));
      });
    });
}

it('a value that moves on is loaded once more when the load before has ended, however often it moved', async () => {
  const [count, answers, told] = [new Cell(0), new Answers(), [] as Loaded<number>[]];
  const end = loadInTurn(answers.load, { follows: () => count.value }, (loaded) => void told.push(loaded));
  count.value = 1;
  count.value = 2;
  expect(answers.asked.length).toBe(1);
  await answers.asked[0]?.(10);
  expect([answers.asked.length, told]).toEqual([2, [{ kind: 'there', value: 10 }]]);
  await answers.asked[1]?.(new Error('no'));
  expect([answers.asked.length, told.at(-1)]).toEqual([2, { kind: 'fault', why: 'This cannot be read.' }]);
  count.value = 3;
  expect(answers.asked.length).toBe(3);
  end();
  await answers.asked[2]?.(30);
  count.value = 4;
  expect([answers.asked.length, told.length]).toEqual([3, 2]);
});

it('a value that is the last is not loaded again', async () => {
  const [count, answers, told] = [new Cell(0), new Answers(), [] as Loaded<number>[]];
  const again = { follows: () => count.value, isLast: (value: number) => value === 11 };
  loadInTurn(answers.load, again, (loaded) => void told.push(loaded));
  await answers.asked[0]?.(10);
  count.value = 1;
  await answers.asked[1]?.(11);
  count.value = 2;
  expect([answers.asked.length, told.at(-1)]).toEqual([2, { kind: 'there', value: 11 }]);
});
