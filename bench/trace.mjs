// @ts-check
// Measures how fast commands look back on long sessions.
import { execFileSync, spawnSync } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';

import { createHome, environment, program } from './support/capsule.mjs';
import { loadSubject } from './support/bundle.mjs';
import { median } from './support/rounds.mjs';

const rounds = 5;
const steps = 100_000;
/** A gigabyte in texts that stand in the lines. */
const large = { steps: 16_600, output: 62_000 };

/**
 * @param {readonly import('./support/journal-subject.ts').Wanted[]} sessions
 * @param {(folder: string) => void} measured
 */
async function withSessions(sessions, measured) {
  const { folder, remove } = await createHome();
  try {
    const { writeSession } = /** @type {typeof import('./support/journal-subject.ts')} */ (
      await loadSubject('journal-subject.ts')
    );
    for (const session of sessions) writeSession(folder, session);
    measured(folder);
  } finally {
    await remove();
  }
}

/**
 * @param {string} folder
 * @param {readonly string[]} args
 */
function millisecondsOf(folder, args) {
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...environment, HOME: folder },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`svc ${args.join(' ')} exited with ${status}: ${stderr}`);
  return performance.now() - began;
}

/** @param {readonly number[]} taken */
function figureOf(taken) {
  const figure = median([...taken]);
  return { figure, subject: `${figure.toFixed(0)} ms` };
}

/**
 * `svc trace diff` of two sessions that have the same 100,000 steps, the start of the program with it.
 * @type {import('./support/row.mjs').Row}
 */
export const traceDiff = {
  name: 'trace-diff',
  goal: { atMost: 2000 },
  unit: 'ms',
  async measure() {
    /** @type {number[]} */
    const taken = [];
    const sessions = ['1', '2'].map((session) => ({ session, steps, last: 'end', output: 20 }));
    await withSessions(sessions, (folder) => {
      for (let round = 0; round < rounds; round += 1)
        taken.push(millisecondsOf(folder, ['trace', 'diff', '0001', '0002']));
    });
    return { ...figureOf(taken), floor: '100,000 steps each' };
  },
};

/**
 * What `svc trace show` of a step in the middle of a journal of a gigabyte takes above `svc --version`.
 * @type {import('./support/row.mjs').Row}
 */
export const traceShow = {
  name: 'trace-show',
  goal: { atMost: 200 },
  unit: 'ms',
  async measure() {
    const { bavail, bsize } = await statfs(tmpdir());
    if (bavail * bsize < 3 * 1024 ** 3) throw new Error('less than 3 GiB are free');
    /** @type {number[]} */
    const taken = [];
    let bytes = '';
    await withSessions([{ ...large, session: '1', last: 'end' }], (folder) => {
      bytes = execFileSync('du', ['-sb', folder], { encoding: 'utf8' }).split('\t')[0] ?? '';
      for (let round = 0; round < rounds; round += 1) {
        const whole = millisecondsOf(folder, ['trace', 'show', `0001#${large.steps / 2}`]);
        taken.push(whole - millisecondsOf(folder, ['--version']));
      }
    });
    return { ...figureOf(taken), floor: `${(Number(bytes) / 1024 ** 2).toFixed(0)} MiB` };
  },
};
