import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { beforeEach, describe, expect, it } from 'vitest';

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
      expect(message).toBe('egress');
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
    expect(line.toString()).toBe('{"cmd":"NODE_HANDLE","type":"net.Server","msg":"egress"}\n');
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
