import { expect, it } from 'vitest';

import { fileOfLines } from '../../record/test/journal/file-of-lines.ts';
import { changesIn } from './trace-lookups.ts';

it('changesIn compares lines with time for others in between, however short the texts are', async () => {
  const numbers = (from: number): string => Array.from({ length: 498 }, (_each, at) => `${from + at}\n`).join('');
  const edit = { command: 'replace', path: 'p', old_text: numbers(0), new_text: numbers(1000) };
  const file = fileOfLines(Array.from({ length: 20 }, () => ({ event_type: 'tool_call', arguments: edit })));
  let [turns, isDone] = [0, false];
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const [changes] = await changesIn(file);
  isDone = true;
  expect([changes?.added, changes?.removed]).toEqual([9960, 9960]);
  expect(turns).toBeGreaterThanOrEqual(4);
});
