import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { boundedReadContract } from '../../../../test/support/bounded-read-contract.ts';
import { readSmallText, readTextIfThere, type TextReading, unreadableFile } from './read-text.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder: string;
eachFolder('svc-text-', (made) => {
  folder = made;
});

function readingOf(content: Buffer): TextReading {
  const path = join(folder, 'file');
  writeFileSync(path, content);
  return readSmallText(path);
}

describe('a small text', () => {
  boundedReadContract('its reader', {
    maxBytes: 1024 * 1024,
    read: (pieces) => {
      const reading = readingOf(Buffer.concat(pieces));
      if (reading.kind === 'text') return reading.text;
      return reading.kind === 'unreadable' && reading.reason === 'it is larger than 1 MiB' ? null : reading.kind;
    },
  });

  it('counts as absent, unreadable or not text', () => {
    expect(readSmallText(join(folder, 'none'))).toEqual({ kind: 'absent' });
    expect(readSmallText(folder)).toMatchObject({ kind: 'unreadable', reason: 'it is a directory' });
    expect(readingOf(Buffer.from([0xff]))).toEqual({ kind: 'unreadable', reason: 'it is not UTF-8 text' });
  });

  it('gives null where it is missing, and fails where it cannot be read', () => {
    const path = join(folder, 'file');
    expect(readTextIfThere(path)).toBeNull();
    writeFileSync(path, 'here');
    expect(readTextIfThere(path)).toBe('here');
    const refused = { code: 'E-IO-001', message: `cannot read ${folder}: it is a directory` };
    expect(() => readTextIfThere(folder)).toThrow(expect.objectContaining(refused));
  });

  it('says what to do where the system refuses it', () => {
    const cause = Object.assign(new Error('no'), { code: 'EACCES', errno: -13, syscall: 'open' });
    expect(unreadableFile('.env', { reason: 'permission denied', cause })).toMatchObject({
      message: 'cannot read .env: permission denied',
      hint: 'check the owner and the permissions of the path',
    });
    expect(unreadableFile('.env', { reason: 'it is a socket' }).hint).toBeUndefined();
  });

  it.each(['silent', 'speaking'])('never comes from a pipe at a path, whose other end is %s', async (end) => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const writer = spawn(
      'sh',
      ['-c', `exec 3<>"$0"; [ $1 = silent ] || printf text >&3; echo up; exec cat`, path, end],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    await once(writer.stdout, 'data');
    try {
      expect(readSmallText(path)).toMatchObject({ kind: 'unreadable', reason: 'it is not a regular file' });
    } finally {
      writer.stdin.end();
      await once(writer, 'exit');
    }
  });

  it('never comes from a device or a socket', async () => {
    const socket = join(folder, 'socket');
    const server = createServer().listen(socket);
    await once(server, 'listening');
    expect([readSmallText('/dev/zero'), readSmallText(socket)]).toMatchObject([
      { kind: 'unreadable', reason: 'it is not a regular file' },
      { kind: 'unreadable', reason: 'it is a socket' },
    ]);
    server.close();
  });

  it('holds all that a writer says into a pipe of this process, however late', async () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    // It waits for a line, which comes once this process holds the pipe: what nobody holds loses what was written.
    const writer = spawn('sh', ['-c', `exec 3<>"$0"; echo up; read -r line; sleep 0.3; printf late >&3`, path], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(writer.stdout, 'data');
    const held = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    await new Promise<void>((resolve) => writer.stdin.end('go\n', () => resolve()));
    expect(readSmallText(`/dev/fd/${held}`)).toEqual({ kind: 'text', text: 'late' });
    closeSync(held);
  });
});
