/** Does a task without a manifest in a folder of as many files as a large project has. */

import { describe, expect, it, onTestFinished } from 'vitest';

import { FirstMinute } from '../support/first-minute.ts';
import { sealed } from './contained-capsule.ts';
import { fill, output, task, told } from './first-minute-task.ts';

// For every class and user it takes minutes, and shows nothing more.
describe.each(sealed.slice(0, 1))('a task without a manifest in $name', (setup) => {
  it('finds its way through 100000 files, one of them masked', async (context) => {
    const minute = new FirstMinute({ ceiling: setup.class, uid: setup.uid });
    onTestFinished(async () => await minute.dispose());
    fill(minute.folder, { folders: 100, filesInEach: 1000 });
    await task(context, minute, ['ls | wc -l', 'find . -type f ! -name .env | wc -l', 'cat .env']);
    expect(told(minute)).toEqual([
      output('100'),
      output('100000'),
      output('(empty)', 'cat: .env: Permission denied', 1),
    ]);
  }, 180_000);
});
