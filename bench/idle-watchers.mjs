// @ts-check
// Measures the memory that a client takes which watches a capsule and hears nothing.
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import { createWorkspace, startCapsule } from './support/capsule.mjs';
import { residentKilobytes } from './support/resident-memory.mjs';
import { median } from './support/rounds.mjs';
import { openWatchers } from './support/sse-client.mjs';

const rounds = 9;
const watchers = 10_000;
const settleMs = 1000;
/** Files of the capsule's own, generously. */
const ownFiles = 200;

/** What a watcher that gets nothing costs: growth of a real capsule's resident memory with 10,000 of them, shared out. */
/** @type {import('./support/row.mjs').Row} */
export const idleWatchers = {
  name: 'idle-watchers',
  goal: { atMost: 12 },
  unit: 'KB',
  async measure() {
    const workspace = await createWorkspace();
    try {
      /** @type {number[]} */
      const taken = [];
      for (let round = 0; round < rounds; round += 1) taken.push(await kilobytesPerWatcher(workspace));
      const figure = median(taken);
      return {
        subject: `10,000 watchers of a capsule ${((figure * watchers) / 1024).toFixed(0)} MB`,
        floor: 'none',
        figure,
      };
    } finally {
      await workspace.remove();
    }
  },
};

/** @param {import('./support/capsule.mjs').Workspace} workspace */
async function kilobytesPerWatcher(workspace) {
  const capsule = await startCapsule(workspace);
  try {
    await checkOpenFiles(capsule.pid);
    await delay(settleMs);
    const before = await residentKilobytes(capsule.pid);
    const client = await openWatchers({ port: capsule.port, request: capsule.dialect.watch, watchers, frames: 0 });
    try {
      await delay(settleMs);
      return ((await residentKilobytes(capsule.pid)) - before) / watchers;
    } finally {
      await client.end();
    }
  } finally {
    await capsule.stop();
  }
}

/**
 * A capsule that may not open enough files would turn watchers away, and the rest would look cheap.
 * @param {number} pid
 */
async function checkOpenFiles(pid) {
  const limits = await readFile(`/proc/${pid}/limits`, 'utf8');
  const limit = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  if (limit !== undefined && Number(limit) < watchers + ownFiles) {
    throw new Error(`a process may open ${limit} files, ${watchers + ownFiles} are needed: raise it with ulimit -n`);
  }
}
