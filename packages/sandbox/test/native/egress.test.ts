import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { barePlan as bare, encodeLaunchPlan } from '../../src/launch/launch-plan.ts';
import { helperPath } from './support/helper.ts';
import { needs } from './support/needs.ts';

const plan = encodeLaunchPlan({
  ...bare,
  namespaces: ['user', 'net', 'pid'],
  network: { kind: 'listen', port: 3128 },
});

/** Starts the helper with a channel as descriptor 4 and its status on descriptor 2. */
function start(channel: 'ipc' | 'pipe', script: string): ChildProcess {
  const folder = mkdtempSync(join(tmpdir(), 'svc-egress-'));
  writeFileSync(join(folder, 'plan'), plan);
  const file = openSync(join(folder, 'plan'), 'r');
  try {
    const words = ['3', '-', '-', '4', '/usr/bin/bash', 'bash', '-c', script];
    return spawn(helperPath(), words, {
      stdio: ['ignore', 'pipe', 'pipe', file, channel],
      env: { PATH: '/usr/bin:/bin', KEPT: 'yes' },
    });
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}

async function output({ stdout, stderr }: ChildProcess): Promise<[string, string]> {
  if (stdout === null || stderr === null) throw new Error('the helper has no output');
  return await Promise.all([text(stdout), text(stderr)]);
}

describe('the operation listen', () => {
  beforeEach((context) => needs(context, 'sealed'));

  it('hands Node a socket that serves the network of the program, before that starts', async () => {
    const script = 'cat < /dev/tcp/127.0.0.1/3128; env | grep -E "KEPT|CHANNEL"; ls /proc/self/fd | wc -l';
    const child = start('ipc', script);
    const ended = output(child);
    const [message, server] = (await once(child, 'message')) as [unknown, unknown];
    if (!(server instanceof Server)) throw new Error('no server came');
    try {
      expect(message).toBe(0);
      expect(server.address()).toEqual({ address: '127.0.0.1', family: 'IPv4', port: 3128 });
      server.on('connection', (socket: Socket) => socket.end('from outside\n'));
      expect(await ended).toEqual(['from outside\nKEPT=yes\n4\n', '']);
    } finally {
      server.close();
    }
  });

  it.each([
    ['refuses the socket', '{"cmd":"NODE_HANDLE_NACK"}\n', 'network 71 the listener was not taken\n'],
    ['answers something else', 'x', 'network 71 the listener was not taken\n'],
    ['answers a part and ends', '{"cmd":"NODE_', 'network 32 no answer to the listener\n'],
    ['ends', '', 'network 32 no answer to the listener\n'],
  ])('starts nothing when the other side %s', async (_what, answer, complaint) => {
    const child = start('pipe', 'echo ran');
    const ended = output(child);
    const channel = child.stdio[4];
    if (!(channel instanceof Socket)) throw new Error('no channel');
    // The helper ends without reading the rest.
    channel.on('error', () => {});
    const [line] = (await once(channel, 'data')) as [Buffer];
    expect(line.toString()).toBe('{"cmd":"NODE_HANDLE","type":"net.Server","msg":0}\n');
    channel.end(answer);
    expect(await ended).toEqual(['', complaint]);
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(125);
  });

  it('goes on when the answer comes in pieces', async () => {
    const child = start('pipe', 'echo ran');
    const ended = output(child);
    const channel = child.stdio[4];
    if (!(channel instanceof Socket)) throw new Error('no channel');
    await once(channel, 'data');
    for (const piece of ['{"cmd":', '"NODE_HANDLE', '_ACK"}', '\n']) {
      await new Promise((resolve) => channel.write(piece, resolve));
    }
    expect(await ended).toEqual(['ran\n', '']);
  });
});

/** The helper that stays, with a channel that is read and answered here. */
class Served {
  readonly #child = spawn(helperPath(), ['serve', `/proc/${process.pid}/fd`], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  readonly exited = once(this.#child, 'exit');
  readonly #answers: { readonly id: number; readonly kind: number; readonly value: number; readonly said: string }[] =
    [];
  #unread = Buffer.alloc(0);

  constructor() {
    this.requests.on('data', (piece: Buffer) => this.#read(piece));
    for (const end of [this.requests, this.channel]) end.on('error', () => {});
  }

  get requests(): Socket {
    return this.#child.stdio[3] as Socket;
  }

  get channel(): Socket {
    return this.#child.stdio[4] as unknown as Socket;
  }

  request(id: number, program: string): void {
    const words = Buffer.from(`${program}\0${program}\0`);
    const head = Buffer.alloc(36);
    [id, plan.length, 0, words.length, 1, 0, -1, -1, -1].forEach((number, at) => head.writeInt32LE(number, 4 * at));
    this.requests.write(Buffer.concat([head, plan, words]));
  }

  /** So many lines that were to go to Node. */
  async lines(count: number): Promise<readonly string[]> {
    let text = '';
    for await (const piece of this.channel.iterator({ destroyOnReturn: false })) {
      text += String(piece);
      if (text.split('\n').length > count) break;
    }
    return text.split('\n').slice(0, count);
  }

  /** What `status` of a launch says, and how it ends. */
  async outcome(id: number): Promise<readonly [string, number]> {
    const find = (kind: number) => this.#answers.find((answer) => answer.id === id && answer.kind === kind);
    while (find(3) === undefined) await once(this.requests, 'data');
    return [find(2)?.said ?? 'nothing', find(3)?.value ?? -1];
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }

  #read(piece: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, piece]);
    while (this.#unread.length >= 16) {
      const [id = 0, kind = 0, value = 0, length = 0] = [0, 4, 8, 12].map((at) => this.#unread.readUInt32LE(at));
      if (this.#unread.length < 16 + length) return;
      this.#answers.push({ id, kind, value, said: this.#unread.toString('utf8', 16, 16 + length) });
      this.#unread = this.#unread.subarray(16 + length);
    }
  }
}

describe('the operation listen of a launch by the helper that stays', () => {
  beforeEach((context) => needs(context, 'sealed'));

  const open = (): Served => {
    const served = new Served();
    onTestFinished(() => served.end());
    return served;
  };

  it('has each answer go to the launch whose socket was handed over in that place', async () => {
    const served = open();
    served.request(5, '/usr/bin/true');
    served.request(9, '/usr/bin/false');
    const ids = (await served.lines(2)).map((line) => (JSON.parse(line) as { msg: number }).msg);
    expect(new Set(ids)).toEqual(new Set([5, 9]));
    const [first = 0, second = 0] = ids;
    for (const piece of ['{"cmd":"NODE_HANDLE_N', 'ACK"}\n{"cmd":', '"NODE_HANDLE_ACK"}\n'])
      await new Promise((resolve) => served.channel.write(piece, resolve));
    expect(await served.outcome(first)).toEqual(['network 71 the listener was not taken\n', 125 << 8]);
    expect(await served.outcome(second)).toEqual(['', second === 5 ? 0 : 1 << 8]);
  });

  it('has the answer to a launch that was ended meanwhile go to nobody', async () => {
    const served = open();
    served.request(1, '/usr/bin/true');
    const forked = once(served.requests, 'data');
    await served.lines(1);
    const [answer] = (await forked) as [Buffer];
    process.kill(answer.readUInt32LE(8), 'SIGKILL');
    expect(await served.outcome(1)).toEqual(['', 9]);
    served.request(2, '/usr/bin/true');
    await served.lines(1);
    served.channel.write('{"cmd":"NODE_HANDLE_NACK"}\n{"cmd":"NODE_HANDLE_ACK"}\n');
    expect(await served.outcome(2)).toEqual(['', 0]);
  });

  it('ends the helper when the channel ends or answers what was not asked', async () => {
    const [ended, odd] = [open(), open()];
    ended.channel.end();
    odd.channel.write('{"cmd":"NODE_HANDLE_ACK"}\n');
    expect([await ended.exited, await odd.exited]).toEqual([
      [0, null],
      [125, null],
    ]);
  });
});
