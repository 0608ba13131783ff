import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { boundedReadContract } from '../../../../test/support/bounded-read-contract.ts';
import { readSmallText, readTextIfThere, type TextReading } from './read-text.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-text-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

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

  it('is absent, unreadable or no text, and told apart so', () => {
    expect(readSmallText(join(folder, 'none'))).toEqual({ kind: 'absent' });
    expect(readSmallText(folder)).toMatchObject({ kind: 'unreadable', reason: 'it is a directory' });
    expect(readingOf(Buffer.from([0xff]))).toEqual({ kind: 'unreadable', reason: 'it is not UTF-8 text' });
  });

  it('is null where there is none, and refused where it cannot be read', () => {
    const path = join(folder, 'file');
    expect(readTextIfThere(path)).toBeNull();
    writeFileSync(path, 'here');
    expect(readTextIfThere(path)).toBe('here');
    const refused = { code: 'E-IO-001', message: `cannot read ${folder}: it is a directory` };
    expect(() => readTextIfThere(folder)).toThrow(expect.objectContaining(refused));
  });

  it('is not waited for at a pipe that nobody writes into', () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    expect(readSmallText(path)).toEqual({ kind: 'text', text: '' });
  });

  it('is all that a writer of a pipe has to say, however late', async () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const writer = spawn('sh', ['-c', `exec 3<>"$0"; echo up; sleep 0.3; printf late >&3`, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(writer.stdout, 'data');
    expect(readSmallText(path)).toEqual({ kind: 'text', text: 'late' });
  });
});
