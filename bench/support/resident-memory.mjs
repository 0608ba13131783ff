// @ts-check
// Reads how much memory a process has.
import { readFile, readdir } from 'node:fs/promises';

/**
 * What of a process is in memory now, as the kernel counts it.
 * @param {number} pid
 * @returns {Promise<number>} Kilobytes of 1024 bytes.
 */
export async function residentKilobytes(pid) {
  return await kilobytesOf(pid, 'VmRSS');
}

/**
 * The most of a process that was ever in memory.
 * @param {number} pid
 * @returns {Promise<number>} Kilobytes of 1024 bytes.
 */
export async function peakKilobytes(pid) {
  return await kilobytesOf(pid, 'VmHWM');
}

/**
 * What a process and all that it started have in memory that is of no file; of what they share, the part of each.
 * @param {number} pid
 * @returns {Promise<number>} Kilobytes of 1024 bytes.
 */
export async function anonymousKilobytes(pid) {
  return await ofTree(pid, 'Pss_Anon');
}

/**
 * What a process and all that it started have in memory; of what they share, with others too, the part of each.
 * @param {number} pid
 * @returns {Promise<number>} Kilobytes of 1024 bytes.
 */
export async function proportionalKilobytes(pid) {
  return await ofTree(pid, 'Pss');
}

/**
 * @param {number} pid
 * @param {'Pss' | 'Pss_Anon'} what
 * @returns {Promise<number>}
 */
async function ofTree(pid, what) {
  const maps = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8')));
  const children = lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
  const below = await Promise.all(children.map((child) => ofTree(child, what)));
  const own = Number(new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(maps)?.[1]);
  return own + below.reduce((sum, each) => sum + each, 0);
}

/**
 * @param {number} pid
 * @param {'VmRSS' | 'VmHWM'} what
 */
async function kilobytesOf(pid, what) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  if (kilobytes === undefined) throw new Error('the kernel does not say how much memory a process has');
  return Number(kilobytes);
}
