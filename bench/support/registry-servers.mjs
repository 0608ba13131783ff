// @ts-check
// Starts the registry, and the one of another project that it is compared with.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { bareProgram } from './bare-process.mjs';
import { createHome, end } from './capsule.mjs';
import { pathWithSystem } from './debian-package.mjs';

const registry = fileURLToPath(new URL('../../bin/svc-registry.cjs', import.meta.url));
const verdaccio = fileURLToPath(new URL('../node_modules/verdaccio/bin/verdaccio', import.meta.url));
export const key = 'bench-key-0123456789';

/**
 * A registry in a process of its own, with its data in a temporary folder.
 * @typedef {object} RegistryProcess
 * @property {number} pid
 * @property {number} port
 * @property {(version: string, archive: Buffer) => Buffer} publishRequest Publishes an archive as a version of the artifact `bench`.
 * @property {(version: string) => string} downloadRequest
 * @property {() => Promise<void>} stop Its data is gone then.
 */

/**
 * @param {(objects: string) => Promise<void>} fill Writes what it has from the beginning.
 * @returns {Promise<RegistryProcess>}
 */
export async function startSvcRegistry(fill = async () => {}) {
  const authorized = `Authorization: Bearer ${key}`;
  const server = await startServer(async ({ folder, port }) => {
    await fill(join(folder, 'data', 'objects'));
    return {
      command: [process.execPath, registry, '--data', join(folder, 'data')],
      env: { REGISTRY_API_KEY: key, REGISTRY_BIND: `127.0.0.1:${port}` },
    };
  });
  return {
    ...server,
    publishRequest: (version, archive) =>
      withBody(
        `POST /v1/artifacts?name=bench&version=${version}&runtime=wasm`,
        [authorized, 'Content-Type: application/octet-stream'],
        archive,
      ),
    downloadRequest: (version) => head(`GET /v1/artifacts/bench/${version}`, [authorized]),
  };
}

/**
 * Verdaccio asks nobody else and lets everybody publish, which spares it the check of a token. Each archive is a package of its own:
 * versions of one package would wait for each other there.
 * @returns {Promise<RegistryProcess>}
 */
export async function startVerdaccio() {
  const server = await startServer(async ({ folder, port }) => {
    const config = join(folder, 'config.yaml');
    await writeFile(config, verdaccioConfig(folder));
    return { command: [process.execPath, verdaccio, '--config', config, '--listen', `127.0.0.1:${port}`], env: {} };
  });
  return {
    ...server,
    publishRequest: (version, archive) => {
      const document = Buffer.from(JSON.stringify(packageDocument(version, archive)));
      return withBody(`PUT /${packageName(version)}`, ['Content-Type: application/json'], document);
    },
    downloadRequest: (version) => head(`GET /${packageName(version)}/-/${packageName(version)}-1.0.0.tgz`, []),
  };
}

/**
 * A bare server that keeps what it is sent, and has it on the disk before it confirms.
 * @returns {Promise<Pick<RegistryProcess, 'port' | 'publishRequest' | 'stop'>>}
 */
export async function startBareKeeper() {
  const server = await startServer(({ folder, port }) => ({
    command: [process.execPath, bareProgram, 'keep', folder, String(port)],
    env: {},
  }));
  return { ...server, publishRequest: (_version, archive) => withBody('POST /', [], archive) };
}

/**
 * Nginx, which sends an archive as the file that it is.
 * @param {Buffer} archive
 * @returns {Promise<Pick<RegistryProcess, 'port' | 'downloadRequest' | 'stop'>>}
 */
export async function startNginx(archive) {
  const server = await startServer(async ({ folder, port }) => {
    const config = join(folder, 'nginx.conf');
    await writeFile(join(folder, 'archive.zip'), archive);
    await writeFile(config, nginxConfig({ folder, port }));
    return { command: ['nginx', '-p', folder, '-c', config, '-e', 'stderr'], env: { PATH: pathWithSystem } };
  });
  return { ...server, downloadRequest: () => head('GET /archive.zip', []) };
}

/** @param {Place} place */
function nginxConfig({ folder, port }) {
  // Started by root, it would give up its rights, and with them the temporary folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  return `
${user}
daemon off;
pid ${folder}/nginx.pid;
worker_processes 1;
events {}
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server { listen 127.0.0.1:${port}; root ${folder}; }
}
`;
}

/** @param {string} folder */
function verdaccioConfig(folder) {
  return `
storage: ${join(folder, 'storage')}
uplinks: {}
packages:
  '**': { access: $all, publish: $all }
web: { enable: false }
max_body_size: 10mb
log: { type: stdout, format: json, level: http }
`;
}

/** @param {string} version */
function packageName(version) {
  return `bench-${version.replaceAll('.', '-')}`;
}

/**
 * What npm sends to publish.
 * @param {string} version
 * @param {Buffer} archive
 */
function packageDocument(version, archive) {
  const name = packageName(version);
  const file = `${name}-1.0.0.tgz`;
  const dist = {
    shasum: createHash('sha1').update(archive).digest('hex'),
    integrity: `sha512-${createHash('sha512').update(archive).digest('base64')}`,
    tarball: `http://127.0.0.1/${name}/-/${file}`,
  };
  return {
    _id: name,
    name,
    'dist-tags': { latest: '1.0.0' },
    versions: { '1.0.0': { _id: `${name}@1.0.0`, name, version: '1.0.0', description: 'A tool.', dist } },
    _attachments: {
      [file]: { content_type: 'application/octet-stream', data: archive.toString('base64'), length: archive.length },
    },
  };
}

/**
 * @typedef {{ folder: string, port: number }} Place
 * @typedef {{ command: readonly [string, ...string[]], env: Record<string, string> }} Program
 * @param {(place: Place) => Program | Promise<Program>} program
 */
async function startServer(program) {
  const { folder, env: home, remove } = await createHome();
  const port = await freePort();
  const { command, env } = await program({ folder, port });
  const [name, ...args] = command;
  // A registry writes a line for each request, here to nobody; nginx writes none.
  const child = spawn(name, args, {
    env: { ...home, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.once('error', (error) => (said += error.message));
  child.stderr.setEncoding('utf8').on('data', (chunk) => (said += chunk));
  const stop = async () => {
    await end(child);
    await remove();
  };
  try {
    await answers(port, () => child.exitCode !== null || child.pid === undefined);
  } catch (error) {
    if (child.pid !== undefined) await end(child);
    await remove();
    throw new Error(`${command.slice(0, 2).join(' ')} does not start: ${said.trim()}`, { cause: error });
  }
  if (child.pid === undefined) throw new Error('the registry has no process');
  return { pid: child.pid, port, stop };
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const address = server.address();
      if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
      server.close(() => resolve(address.port));
    });
  });
}

/**
 * Resolves once something answers there.
 * @param {number} port
 * @param {() => boolean} hasEnded
 */
async function answers(port, hasEnded) {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if (hasEnded()) throw new Error('it ended');
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } }).catch(() => null);
    if (response !== null) return response.text();
    await delay(50);
  }
  throw new Error('it answers nothing');
}

/**
 * @param {string} requestLine
 * @param {readonly string[]} headers
 */
function head(requestLine, headers) {
  return [`${requestLine} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, '', ''].join('\r\n');
}

/**
 * @param {string} requestLine
 * @param {readonly string[]} headers
 * @param {Buffer} body
 */
function withBody(requestLine, headers, body) {
  return Buffer.concat([Buffer.from(head(requestLine, [...headers, `Content-Length: ${body.length}`])), body]);
}
