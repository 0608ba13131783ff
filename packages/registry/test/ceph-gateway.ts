import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    readonly s3: { readonly endpoint: string };
  }
}

/** The user that the gateway knows. */
export const gatewayUser = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };

const run = promisify(execFile);
const startMs = 120_000;

/** For all test files of one run: an S3 service, Ceph's gateway over one monitor and one store in memory, on free ports of 127.0.0.1. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const ceph = new Ceph(mkdtempSync(join(tmpdir(), 'svc-ceph-')));
  try {
    project.provide('s3', { endpoint: await ceph.start() });
  } catch (error) {
    await ceph.stop();
    throw error;
  }
  return async () => await ceph.stop();
}

class Ceph {
  readonly #root: string;
  readonly #daemons: ChildProcess[] = [];
  readonly #deadline = Date.now() + startMs;

  constructor(root: string) {
    this.#root = root;
  }

  async start(): Promise<string> {
    const [monitor, gateway] = [await freePort(), await freePort()];
    const fsid = randomUUID();
    for (const name of ['mon', 'osd', 'run']) mkdirSync(join(this.#root, name));
    writeFileSync(join(this.#root, 'ceph.conf'), configuration({ root: this.#root, fsid, monitor, gateway }));
    await this.#monitor(monitor, fsid);
    await this.#store();
    await this.#gateway(gateway);
    return `http://127.0.0.1:${gateway}`;
  }

  async stop(): Promise<void> {
    for (const daemon of this.#daemons.toReversed()) {
      if (daemon.exitCode !== null || daemon.signalCode !== null) continue;
      const ended = once(daemon, 'exit');
      daemon.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#root, { recursive: true, force: true });
  }

  async #monitor(port: number, fsid: string): Promise<void> {
    const all = ['--cap', 'mon', 'allow *', '--cap', 'osd', 'allow *', '--cap', 'mgr', 'allow *'];
    const keyring = join(this.#root, 'keyring');
    for (const name of ['mon.', 'client.admin', 'client.gateway', 'osd.0']) {
      const create = name === 'mon.' ? ['--create-keyring'] : [];
      await run('ceph-authtool', [keyring, ...create, '--gen-key', '-n', name, ...all]);
    }
    const map = join(this.#root, 'monmap');
    await run('monmaptool', ['--create', '--fsid', fsid, '--addv', 'a', `[v2:127.0.0.1:${port}]`, map]);
    await this.#run('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map, '--keyring', keyring);
    this.#spawn('ceph-mon', '-f', '-i', 'a');
  }

  async #store(): Promise<void> {
    const id = randomUUID();
    await this.#run('ceph', '--connect-timeout', '60', 'osd', 'new', id);
    await this.#run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', id);
    this.#spawn('ceph-osd', '-f', '-i', '0');
    await this.#until('the store is up', async () => (await this.#run('ceph', 'osd', 'stat')).includes(' 1 up'));
  }

  async #gateway(port: number): Promise<void> {
    this.#spawn('radosgw', '-f', '-n', 'client.gateway');
    await this.#until('the gateway answers', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
      await answer?.arrayBuffer();
      return answer !== null;
    });
    const { accessKeyId, secretAccessKey } = gatewayUser;
    const user = ['--uid=test', '--display-name=test', `--access-key=${accessKeyId}`, `--secret=${secretAccessKey}`];
    await this.#run('radosgw-admin', 'user', 'create', ...user);
  }

  async #run(program: string, ...args: readonly string[]): Promise<string> {
    const all = ['-c', join(this.#root, 'ceph.conf'), ...args];
    return (await run(program, all, { timeout: startMs })).stdout;
  }

  #spawn(program: string, ...args: readonly string[]): void {
    const log = openSync(join(this.#root, `${program}.out`), 'w');
    const daemon = spawn(program, ['-c', join(this.#root, 'ceph.conf'), ...args], { stdio: ['ignore', log, log] });
    this.#daemons.push(daemon);
  }

  async #until(what: string, holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) {
      const dead = this.#daemons.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
      if (dead === undefined && Date.now() < this.#deadline) continue;
      const logs = ['ceph-mon', 'ceph-osd', 'radosgw'].map((name) => this.#log(name)).join('');
      throw new Error(`never: ${what}\n${logs}`);
    }
  }

  #log(program: string): string {
    try {
      return readFileSync(join(this.#root, `${program}.out`), 'utf8').slice(-2_000);
    } catch {
      return `${program} was not started\n`;
    }
  }
}

interface Places {
  readonly root: string;
  readonly fsid: string;
  readonly monitor: number;
  readonly gateway: number;
}

function configuration({ root, fsid, monitor, gateway }: Places): string {
  return `[global]
fsid = ${fsid}
mon host = v2:127.0.0.1:${monitor}
mon initial members = a
public network = 127.0.0.0/8
ms bind msgr1 = false
keyring = ${root}/keyring
run dir = ${root}/run
admin socket = ${root}/run/$name.asok
log file = ${root}/$name.log
mon data = ${root}/mon
osd data = ${root}/osd
osd objectstore = memstore
memstore device bytes = 4294967296
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 1
[client.gateway]
rgw frontends = beast endpoint=127.0.0.1:${gateway}
rgw thread pool size = 32
`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a server has no port');
  return address.port;
}
