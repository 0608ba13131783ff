// @ts-check
// Reads how much memory a process has.
import { readFile } from 'node:fs/promises';

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
 * @param {number} pid
 * @param {'VmRSS' | 'VmHWM'} what
 */
async function kilobytesOf(pid, what) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  if (kilobytes === undefined) throw new Error('the kernel does not say how much memory a process has');
  return Number(kilobytes);
}
