// @ts-check
// Publishes archives to a registry and downloads them, many at once.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { loadSubject } from './bundle.mjs';
import { environment } from './capsule.mjs';

const publisher = fileURLToPath(new URL('each-once-client.mjs', import.meta.url));
const downloader = fileURLToPath(new URL('load-client.mjs', import.meta.url));

/** As many as `svc install` downloads at once. */
const connections = 4;
export const batchSize = 24;

/** The first of what a batch publishes. */
const downloaded = '1.0.0';

/** @type {Promise<typeof import('./registry-archive.ts')> | null} */
let archives = null;
/** How many batches a server has taken. @type {WeakMap<object, number>} */
const batches = new WeakMap();

/**
 * Publishes archives that the server does not have, and downloads none.
 * @param {Pick<import('./registry-servers.mjs').RegistryProcess, 'port' | 'publishRequest'>} server
 * @returns {Promise<number>} How many it has taken a second.
 */
export async function publishBatch(server) {
  const number = batches.get(server) ?? 0;
  batches.set(server, number + 1);
  const { toolArchive } = await loadArchives();
  const requests = [];
  for (let index = 0; index < batchSize; index += 1) {
    const version = `1.${number}.${index}`;
    requests.push(server.publishRequest(version, await toolArchive(version)));
  }
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-publishes-'));
  try {
    const file = join(folder, 'requests');
    await writeFile(file, requests);
    const lengths = requests.map(({ length }) => length);
    const { elapsedMs } = await run(publisher, { port: server.port, connections, file, lengths, status: 201 });
    return batchSize / (elapsedMs / 1000);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What a server that has taken a batch is asked for. */
export async function downloadedArchive() {
  return await (await loadArchives()).toolArchive(downloaded);
}

/**
 * Writes the records of versions, each in a folder as a registry has them; nobody asks for their archives.
 * @param {string} folder
 * @param {number} count
 */
export async function writeVersions(folder, count) {
  const { archiveName, recordOf } = await loadArchives();
  for (let index = 0; index < count; index += 1) {
    const place = join(folder, `${archiveName}@0.0.${index}@1`);
    await mkdir(place, { recursive: true });
    await writeFile(join(place, 'record.json'), recordOf(`0.0.${index}`));
  }
}

/**
 * Downloads one archive over and over.
 * @param {Pick<import('./registry-servers.mjs').RegistryProcess, 'port' | 'downloadRequest'>} server
 * @returns {Promise<number>} How often a second.
 */
export async function downloadsPerSecond(server) {
  const request = server.downloadRequest(downloaded);
  const load = { port: server.port, connections, warmUpMs: 300, measureMs: 1200, request };
  const { perSecond, busy } = await run(downloader, load);
  if (busy > 0.95) throw new Error(`the client was the bottleneck: busy for ${(busy * 100).toFixed(0)} % of the time`);
  return perSecond;
}

/**
 * @param {string} client
 * @param {object} order
 */
async function run(client, order) {
  const { stdout } = await promisify(execFile)(process.execPath, [client, JSON.stringify(order)], { env: environment });
  return JSON.parse(stdout);
}

function loadArchives() {
  archives ??= loadSubject('registry-archive.ts').then((subject) => {
    return /** @type {typeof import('./registry-archive.ts')} */ (subject);
  });
  return archives;
}
