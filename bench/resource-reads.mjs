// @ts-check
// Measures how fast a capsule gives out its files.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createWorkspace, startCapsule, waiting } from './support/capsule.mjs';
import { closedPerSecond } from './support/close-load.mjs';
import { installedVersion } from './support/debian-package.mjs';
import { startNginx } from './support/registry-servers.mjs';
import { alternate } from './support/rounds.mjs';

/**
 * A file of one size read over and over on the operator plane, hashed each time, against nginx, which sends the same bytes and hashes
 * nothing. Both end the connection after each response: that is what a capsule has to do.
 * @typedef {{ name: string, bytes: number, connections: number, requests: number, atLeast: number }} Reading
 */

/** @type {readonly Reading[]} */
const readings = [
  { name: '1kb', bytes: 1024, connections: 16, requests: 6000, atLeast: 0.3 },
  { name: '1mb', bytes: 1024 * 1024, connections: 8, requests: 600, atLeast: 0.35 },
  { name: '100mb', bytes: 100 * 1024 * 1024, connections: 2, requests: 8, atLeast: 0.35 },
];

/** @type {readonly import('./support/row.mjs').Row[]} */
export const resourceReads = readings.map(({ name, bytes, connections, requests, atLeast }) => ({
  name: `resource-${name}`,
  goal: { atLeast },
  unit: 'times',
  async measure() {
    await installedVersion({ program: 'nginx', versionFlag: '-v', debianPackage: 'nginx-light' });
    const content = randomBytes(bytes);
    const nginx = await startNginx(content);
    try {
      return await withExported(content, async (port) => {
        const { subject, floor } = await alternate({
          rounds: 11,
          subject: () => readsPerSecond({ port, connections, requests, request: 'GET /resources/files/file' }),
          floor: () => readsPerSecond({ port: nginx.port, connections, requests, request: 'GET /archive.zip' }),
        });
        return {
          subject: `hashed ${rate(subject)}`,
          floor: `nginx ${rate(floor)}`,
          figure: subject / floor,
        };
      });
    } finally {
      await nginx.stop();
    }
  },
}));

/**
 * Runs a capsule that exports one file with this content.
 * @template T
 * @param {Buffer} content
 * @param {(port: number) => Promise<T>} measure
 */
async function withExported(content, measure) {
  const manifest = `${waiting.manifest}exports: { files: { root: out, max_bytes: 1Gi } }\n`;
  const workspace = await createWorkspace({ ...waiting, manifest });
  try {
    const capsule = await startCapsule(workspace);
    try {
      const workdirs = join(workspace.folder, 'workdir');
      const [session = ''] = await readdir(workdirs);
      await mkdir(join(workdirs, session, 'out'), { recursive: true });
      await writeFile(join(workdirs, session, 'out', 'file'), content);
      return await measure(capsule.port);
    } finally {
      await capsule.stop();
    }
  } finally {
    await workspace.remove();
  }
}

/** @param {{ port: number, connections: number, requests: number, request: string }} load */
function readsPerSecond({ request, ...load }) {
  const head = `${request} HTTP/1.1\r\nHost: 127.0.0.1:${load.port}\r\nConnection: close\r\n\r\n`;
  return closedPerSecond({ ...load, request: head });
}

/** @param {number} perSecond */
function rate(perSecond) {
  return perSecond >= 1000 ? `${(perSecond / 1000).toFixed(1)}k/s` : `${perSecond.toFixed(perSecond < 100 ? 1 : 0)}/s`;
}
