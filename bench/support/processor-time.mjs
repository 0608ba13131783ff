// @ts-check
// Reads from the kernel how much processor time a process has taken.
import { readFile, readdir } from 'node:fs/promises';

/** The length of a tick. The kernel counts in ticks what ended children took. */
const tickMs = 10;

/**
 * Returns the time of a living process, of all living processes that it started, and of all that these have waited for.
 * @param {number} pid
 * @returns {Promise<number>} In milliseconds.
 */
export async function processorMs(pid) {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const taken = await Promise.all(
    threads.map(async (thread) => {
      const read = (/** @type {string} */ name) =>
        readFile(`/proc/${pid}/task/${thread}/${name}`, 'utf8').catch(() => '');
      const [times, children] = await Promise.all([read('schedstat'), read('children')]);
      const below = await Promise.all(children.split(' ').filter(Boolean).map(Number).map(processorMs));
      return Number(times.split(' ')[0] ?? 0) / 1e6 + below.reduce((sum, ms) => sum + ms, 0);
    }),
  );
  return taken.reduce((sum, ms) => sum + ms, 0) + (await waitedMs(pid));
}

/**
 * Returns the time of all that a process has waited for.
 * @param {number} pid
 * @returns {Promise<number>} In milliseconds.
 */
export async function waitedMs(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') ');
  const [waitedUser = '0', waitedSystem = '0'] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15);
  return (Number(waitedUser) + Number(waitedSystem)) * tickMs;
}
