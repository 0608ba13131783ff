// @ts-check
// Measures how much later a model is asked where the workdir holds many files.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { environment, program } from './support/capsule.mjs';
import { manifestOf, serveModel } from './support/model.mjs';
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
    const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
    let askedAt = Number.NaN;
    const model = await serveModel({
      onAsked: () => (askedAt = performance.now()),
      reply: () => ({ delta: { content: 'Done.' }, finish: 'stop' }),
    });
    /** @param {number} count */
    const askedInMs = async (count) => {
      const began = performance.now();
      const args = [program, 'run', '--offline', '--task', 'Go.', '--workdir', join(folder, String(count))];
      await promisify(execFile)(process.execPath, args, { cwd: folder, env: { ...environment, HOME: folder } });
      return askedAt - began;
    };
    try {
      await writeFile(join(folder, 'svc.yaml'), manifestOf(model.port, 1));
      for (const count of [many, few]) await fill(join(folder, String(count)), count);
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
      model.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/**
 * @param {string} folder
 * @param {number} count
 */
async function fill(folder, count) {
  for (let made = 0; made < count; made += filesOfFolder) {
    const part = join(folder, `part-${made / filesOfFolder}`);
    await mkdir(part, { recursive: true });
    const names = Array.from({ length: Math.min(filesOfFolder, count - made) }, (_, index) => `file-${index}.txt`);
    await Promise.all(names.map((name) => writeFile(join(part, name), 'x'.repeat(100))));
  }
}
