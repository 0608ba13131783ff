import { expect, it } from 'vitest';

import { fileOfLines } from '../../../test/journal/file-of-lines.ts';
import { stepsOf } from './journal-places.ts';

const start = (e: string, port = 'p', name = 'n'): object => ({ k: 'start', e, port, name });
const open = { k: 'open', version: 1 };

it('lists steps with the beginnings of long places, each with a number of its own, and those of one place apart', async () => {
  const long = `tsk_1/1/${'x'.repeat(400)}`;
  const steps = await stepsOf(
    fileOfLines([
      open,
      { k: 'task', id: 'tsk_1' },
      start(`${long}1`),
      start(`${long}2`),
      start('tsk_1/1/m1'),
      start('tsk_1/1/m1'),
      { k: 'end', e: 'tsk_1/1/m1', ms: 5 },
    ]),
  );
  expect(steps.map(({ key, ms }) => [key.slice(0, 161), key.length < 180, ms])).toEqual([
    [`0/1/${'x'.repeat(156)}…`, true, null],
    [`0/1/${'x'.repeat(156)}…`, true, null],
    ['0/1/m1', true, 5],
    ['0/1/m1', true, null],
  ]);
  expect(steps[0]?.key).not.toBe(steps[1]?.key);
});

it('lists no more steps than say 8 Mi characters together', async () => {
  const record = start('e'.repeat(180), 'p'.repeat(300), 'n'.repeat(300));
  const steps = await stepsOf(fileOfLines([open, ...Array.from({ length: 31_000 }, () => record)]));
  const said = steps.map(({ key, port, name }) => key.length + port.length + name.length);
  const sum = said.reduce((before, each) => before + each, 0);
  expect([sum > 8_388_000, sum <= 8_388_608]).toEqual([true, true]);
});
