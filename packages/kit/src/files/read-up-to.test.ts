import { execFileSync } from 'node:child_process';
import { appendFileSync, closeSync, constants, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { boundedReadContract } from '../../../../test/support/bounded-read-contract.ts';
import { readFileUpTo, readUpTo } from './read-up-to.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const maxBytes = 10_000;

let folder: string;
eachFolder('svc-read-', (made) => {
  folder = made;
});

function fileOf(pieces: readonly Buffer[]): string {
  const path = join(folder, 'file');
  writeFileSync(path, '');
  for (const piece of pieces) appendFileSync(path, piece);
  return path;
}

describe('a stream', () => {
  boundedReadContract('a reader of it', {
    maxBytes,
    read: async (pieces) => (await readUpTo(Readable.from(pieces), maxBytes))?.toString() ?? null,
  });

  it('stops being read once it is too long', async () => {
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(100);
      })(),
    );
    expect(await readUpTo(endless, 1000)).toBeUndefined();
    expect(endless.destroyed).toBe(true);
  });

  it('fails when it does not end well', async () => {
    const cut = new Readable({ read: () => {} });
    cut.push('some');
    cut.destroy(new Error('cut'));
    await expect(readUpTo(cut, 1000)).rejects.toThrow('cut');
  });
});

describe('a file', () => {
  boundedReadContract('a reader of its path', {
    maxBytes,
    read: (pieces) => readFileUpTo(fileOf(pieces), maxBytes)?.toString() ?? null,
  });

  boundedReadContract('a reader of a pipe, which has no size,', {
    maxBytes,
    read: (pieces) => {
      const path = join(folder, 'pipe');
      execFileSync('mkfifo', [path]);
      const from = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const to = openSync(path, 'w');
      for (const piece of pieces) writeSync(to, piece);
      closeSync(to);
      const text = readFileUpTo(from, maxBytes)?.toString() ?? null;
      closeSync(from);
      return text;
    },
  });

  it('gives what follows where its descriptor stands, which stays open', () => {
    const path = fileOf([Buffer.from('one')]);
    const descriptor = openSync(path, 'r');
    const first = readFileUpTo(descriptor, 10)?.toString();
    appendFileSync(path, 'two');
    expect([first, readFileUpTo(descriptor, 10)?.toString()]).toEqual(['one', 'two']);
    closeSync(descriptor);
  });

  it('fails as the system says when it is missing', () => {
    expect(() => readFileUpTo(join(folder, 'none'), 10)).toThrow(expect.objectContaining({ code: 'ENOENT' }));
    expect(() => readFileUpTo(folder, 10)).toThrow(expect.objectContaining({ code: 'EISDIR' }));
  });
});
