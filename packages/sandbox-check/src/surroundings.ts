/** Makes the files, servers and processes around an attempt. */

import { spawn } from 'node:child_process';
import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { containedHome } from '@svc/sandbox/contained-environment.ts';
import type { AttemptTools } from './attempt-tools.ts';

interface SurroundingsRequest {
  /** An existing directory in which one of their own is made. */
  readonly directory: string;
  /** `svc-attempts`. */
  readonly program: string;
  readonly tools: AttemptTools;
}

/**
 * What one attempt finds around it: its workdir, and outside of it things that it is to have no part in, each with the same secret.
 * What costs a process or a socket is made when it is asked for. `close` ends and removes all of it.
 */
export class Surroundings {
  readonly program: string;
  readonly tools: AttemptTools;
  /** Read by an attempt, it shows that it got there. */
  readonly secret: string = `secret-${randomHex(16)}`;
  readonly servers: GreetingServers = new GreetingServers(this.secret);
  readonly workdir: string;
  /** Beside the workdir. */
  readonly outside: string;
  /** What the runtime keeps of a session. */
  readonly privateDirectory: string;
  readonly secretFile: string;
  readonly records: string;
  /** Every text of the session, and the directory of its long ones. */
  readonly journal: string;
  readonly bodies: string;
  /** A directory of the workdir, for grants that are narrower. */
  readonly scope = 'part';
  /** A file with the secret in the workdir, beside that directory. */
  readonly beyondScope: string;
  readonly #base: string;
  #victim: Promise<Victim> | null = null;

  constructor({ directory, program, tools }: SurroundingsRequest) {
    this.program = program;
    this.tools = tools;
    this.#base = realpathSync(mkdtempSync(join(directory, 'attempt-')));
    this.workdir = join(this.#base, 'workdir');
    this.outside = join(this.#base, 'outside');
    this.privateDirectory = join(this.#base, 'session');
    this.secretFile = join(this.outside, 'secret');
    this.records = join(this.privateDirectory, 'trace.jsonl');
    this.journal = join(this.privateDirectory, 'journal.jsonl');
    this.bodies = join(this.privateDirectory, 'bodies');
    this.beyondScope = join(this.workdir, 'beyond');
    const scope = join(this.workdir, this.scope);
    for (const path of [containedHome(this.workdir), scope, this.outside, this.bodies]) {
      mkdirSync(path, { recursive: true, mode: 0o700 });
    }
    const body = join(this.bodies, 'secret');
    for (const path of [this.secretFile, this.records, this.journal, body, this.beyondScope]) {
      writeFileSync(path, this.secret, { mode: 0o600 });
    }
  }

  /** Another process of the same user, which holds the secret wherever a process can. */
  async victim(): Promise<Victim> {
    this.#victim ??= startVictim({ program: this.program, secret: this.secret, secretFile: this.secretFile });
    return await this.#victim;
  }

  /** Whether a process holds the FIFO of a daemon; this ends it. */
  releaseDaemon(): boolean {
    let fifo: number | null = null;
    try {
      fifo = openSync(join(this.workdir, 'daemon'), constants.O_WRONLY | constants.O_NONBLOCK);
      writeSync(fifo, 'x');
      return true;
    } catch (error) {
      // Nobody has it open, or no longer, or it was never made.
      if (isErrno(error, 'ENXIO', 'EPIPE', 'ENOENT')) return false;
      throw error;
    } finally {
      if (fifo !== null) closeSync(fifo);
    }
  }

  async close(): Promise<void> {
    this.releaseDaemon();
    await this.servers.close();
    if (this.#victim !== null) await (await this.#victim).end();
    rmSync(this.#base, { recursive: true, force: true });
  }
}

/** A process that attempts are made on. */
interface Victim {
  readonly pid: string;
  /** Where in its memory the secret is, in hexadecimal. */
  readonly address: string;
  /** Its descriptor of the secret file. */
  readonly descriptor: string;
  /** Its segment of shared memory. */
  readonly segment: string;
  /** Ends it. The signal that ended it, which is another than SIGTERM when somebody else was first. */
  end(): Promise<string | null>;
}

interface VictimRequest {
  /** `svc-attempts`. */
  readonly program: string;
  readonly secret: string;
  readonly secretFile: string;
}

/** It ends with its standard input too, so that it never outlives us. */
async function startVictim({ program, secret, secretFile }: VictimRequest): Promise<Victim> {
  const child = spawn(program, ['victim', secret, secretFile], {
    env: { SVC_ATTEMPTS_SECRET: secret },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').then(([, signal]) => signal as string | null);
  child.stdin.on('error', () => {});
  const line = await Promise.race([once(child.stdout, 'data').then(([chunk]) => String(chunk)), ended]);
  const [, address, descriptor, segment] = /^(0x[0-9a-f]+) (\d+) (\d+)\n$/.exec(line ?? '') ?? [];
  if (address === undefined || descriptor === undefined || segment === undefined || child.pid === undefined) {
    child.kill('SIGKILL');
    throw new Error(`the process that attempts are made on did not start: ${await text(child.stderr)}`);
  }
  const end = async (): Promise<string | null> => {
    child.kill('SIGTERM');
    return await ended;
  };
  return { pid: String(child.pid), address, descriptor, segment, end };
}

const maxTries = 20;

/** Servers of this machine that answer each connection with a text. */
class GreetingServers {
  readonly #greeting: string;
  readonly #servers: Server[] = [];
  readonly #datagrams: DatagramSocket[] = [];
  #port: Promise<number> | null = null;

  constructor(greeting: string) {
    this.#greeting = greeting;
  }

  /** A TCP port on which both 127.0.0.1 and 127.0.0.2 greet. */
  async tcpPort(): Promise<number> {
    this.#port ??= this.#listenOnBoth();
    return await this.#port;
  }

  /** Another TCP port of 127.0.0.1. */
  async otherPort(): Promise<number> {
    return portOf(await this.#listen({ host: '127.0.0.1', port: 0 }));
  }

  async udpPort(): Promise<number> {
    const socket = createSocket('udp4');
    this.#datagrams.push(socket);
    socket.on('message', (_message, from) => socket.send(this.#greeting, from.port, from.address));
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return socket.address().port;
  }

  /** A UNIX socket with that path. */
  async unixPath(path: string): Promise<string> {
    await this.#listen({ path });
    return path;
  }

  /** A UNIX socket in the abstract space; its name with the leading NUL written as `@`. */
  async abstractName(): Promise<string> {
    const name = `svc-attempts-${randomHex(8)}`;
    await this.#listen({ path: `\0${name}` });
    return `@${name}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#datagrams.splice(0)) socket.close();
    await Promise.all(this.#servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
  }

  /** A port that is free on one address may be taken on the other. */
  async #listenOnBoth(): Promise<number> {
    for (let tries = 0; ; tries++) {
      const first = await this.#listen({ host: '127.0.0.1', port: 0 });
      try {
        await this.#listen({ host: '127.0.0.2', port: portOf(first) });
        return portOf(first);
      } catch (error) {
        if (!isErrno(error, 'EADDRINUSE') || tries === maxTries) throw error;
      }
    }
  }

  async #listen(options: ListenOptions): Promise<Server> {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.resume();
      socket.end(this.#greeting);
    });
    server.listen(options);
    await once(server, 'listening');
    this.#servers.push(server);
    return server;
  }
}

function randomHex(bytes: number): string {
  return Buffer.from(systemClock.randomBytes(bytes)).toString('hex');
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server without a port');
  return address.port;
}
