// @ts-check
// Measures how much later a model is asked where the workdir holds many files.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createWorkspace } from './support/capsule.mjs';
import { manifestOf } from './support/model.mjs';
import { openRuns } from './support/one-run.mjs';
import { alternate } from './support/rounds.mjs';

const many = 100_000;
const few = 10;
const filesOfFolder = 100;

/**
 * From the start of `svc run --workdir` to the first whole request that the model gets: how much longer a folder of 100,000 files makes it than one
 * of 10. A run is one turn that touches nothing.
 * @type {import('./support/row.mjs').Row}
 */
export const workdirFirstQuestion = {
  name: 'workdir-first-question',
  goal: { atMost: 200 },
  unit: 'ms',
  async measure() {
    const runs = await openRuns((port) => createWorkspace({ manifest: manifestOf(port, 1) }));
    const folderOf = (/** @type {number} */ count) => join(runs.folder, String(count));
    const askedInMs = async (/** @type {number} */ count) => (await runs.run(['--workdir', folderOf(count)])).asked;
    try {
      for (const count of [many, few]) await fill(folderOf(count), count);
      const { subject, floor } = await alternate({
        rounds: 9,
        subject: () => askedInMs(many),
        floor: () => askedInMs(few),
      });
      return {
        subject: `100,000 files ${subject.toFixed(0)} ms`,
        floor: `10 files ${floor.toFixed(0)} ms`,
        figure: subject - floor,
      };
    } finally {
      await runs.close();
    }
  },
};

/**
 * @param {string} folder
 * @param {number} count
 */
export async function fill(folder, count) {
  for (let made = 0; made < count; made += filesOfFolder) {
    const part = join(folder, `part-${made / filesOfFolder}`);
    await mkdir(part, { recursive: true });
    const names = Array.from({ length: Math.min(filesOfFolder, count - made) }, (_, index) => `file-${index}.txt`);
    await Promise.all(names.map((name) => writeFile(join(part, name), 'x'.repeat(100))));
  }
}
