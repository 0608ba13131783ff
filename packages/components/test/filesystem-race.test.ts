import { constants, mkdirSync, openSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Descriptor } from '../src/guest/filesystem/descriptor.ts';
import { filesystem } from '../src/guest/filesystem/filesystem.ts';
import { O_PATH } from '@svc/kit/files/held-directory.ts';
import { temporaryFolder } from './support/hosted-tool.ts';

const attempts = 5_000;
const room = { now: () => 0n, sleep: () => {}, awaitRemote: () => [] };
const folder = temporaryFolder();
const inside = join(folder.path, 'inside');
const outside = join(folder.path, 'outside');
let flipping: Worker;
let root: Descriptor;

beforeAll(async () => {
  mkdirSync(join(inside, 'flip'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, 'target'), 'outside');
  writeFileSync(join(inside, 'flip', 'target'), 'inside');
  writeFileSync(join(inside, 'spare'), 'inside');
  symlinkSync('../outside', join(inside, 'link'));
  const place = openSync(inside, O_PATH | constants.O_DIRECTORY);
  const interfaces = filesystem([{ guestPath: '/', place, writable: true }], room);
  const preopens = interfaces['wasi:filesystem/preopens'] as unknown as { getDirectories(): [[Descriptor, string]] };
  [[root]] = preopens.getDirectories();
  flipping = new Worker(new URL('support/flip.mjs', import.meta.url), { workerData: inside });
  await new Promise((resolve) => flipping.once('message', resolve));
});

afterAll(async () => {
  await flipping.terminate();
  folder.remove();
});

/** How often each outcome came, of an operation tried again and again while the directory under it is swapped. */
function outcomes(operation: () => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let at = 0; at < attempts; at += 1) {
    let outcome: string;
    try {
      outcome = operation();
    } catch (error) {
      outcome = `refused ${String(error)}`;
    }
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

function read(path: string): string {
  const file = root.openAt({ symlinkFollow: true }, path, {}, { read: true });
  try {
    return `read ${new TextDecoder().decode(file.read(100n, 0n)[0])}`;
  } finally {
    file[Symbol.dispose]();
  }
}

describe('while a directory is swapped for a link that leads out', () => {
  it('no open reads what is outside', () => {
    const counts = outcomes(() => read('flip/target'));
    expect(counts['read outside']).toBeUndefined();
    expect(counts['read inside']).toBeGreaterThan(0);
  });

  it('no file is made outside', () => {
    outcomes(() => {
      root.openAt({ symlinkFollow: true }, 'flip/made', { create: true }, { write: true })[Symbol.dispose]();
      return 'made';
    });
    expect(readdirSync(outside)).toEqual(['target']);
  });

  it('no directory is made, and nothing renamed or removed, outside', () => {
    outcomes(() => {
      root.createDirectoryAt('flip/directory');
      return 'made';
    });
    outcomes(() => {
      root.renameAt('spare', root, 'flip/spare');
      root.renameAt('flip/spare', root, 'spare');
      return 'moved';
    });
    outcomes(() => {
      root.unlinkFileAt('flip/target');
      return 'removed';
    });
    expect(readdirSync(outside)).toEqual(['target']);
  });
});
