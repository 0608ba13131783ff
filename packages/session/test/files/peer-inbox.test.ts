import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Fetching, handleOf, idOf, serve } from './fetching.ts';

let fetching: Fetching;

beforeEach(async () => {
  fetching = new Fetching();
  await fetching.open();
});

afterEach(() => fetching.close());

describe('a disk that is full (needs root, to mount one)', () => {
  it.skipIf(process.getuid?.() !== 0)('keeps nothing of the file, and the model gets an error', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', fetching.workdir]);
    try {
      fetching.answer = (_, response) => serve(response, 'x'.repeat(100_000));
      expect(fetching.refusal(await fetching.fetch({}, { maxBytes: 1_000_000 }))).toBe(
        'io_error: The file cannot be kept in the workdir: no space left on the device.',
      );
    } finally {
      execFileSync('umount', [fetching.workdir]);
    }
  });
});

describe('what the agent put where the file belongs', () => {
  it('gives way when it is a link in the place of peer-in, which svc does not follow [D3-TOOL-11]', async () => {
    const outside = join(fetching.base, 'outside');
    mkdirSync(outside);
    symlinkSync(outside, fetching.inbox);
    expect((await fetching.fetch()).status).toBe('passed');
    expect(readdirSync(outside)).toEqual([]);
    expect(lstatSync(fetching.inbox).isDirectory()).toBe(true);
  });

  it('gives way when it is a link in the place of the file, which svc does not follow [D3-TOOL-11]', async () => {
    const outside = join(fetching.base, 'outside.txt');
    writeFileSync(outside, 'untouched');
    mkdirSync(fetching.inbox);
    const name = `${idOf(handleOf())}-q3.csv`;
    symlinkSync(outside, join(fetching.inbox, name));
    expect((await fetching.fetch()).status).toBe('passed');
    expect(readFileSync(outside, 'utf8')).toBe('untouched');
    expect(lstatSync(join(fetching.inbox, name)).isFile()).toBe(true);
    expect(readFileSync(join(fetching.inbox, name), 'utf8')).toBe('report');
  });

  it('moves aside when it is a directory [D3-TOOL-11]', async () => {
    const name = `${idOf(handleOf())}-q3.csv`;
    mkdirSync(join(fetching.inbox, name, 'work'), { recursive: true });
    expect((await fetching.fetch()).status).toBe('passed');
    expect(readFileSync(join(fetching.inbox, name), 'utf8')).toBe('report');
  });

  it.each([
    ['../../../../outside.txt', 'outside.txt'],
    ['/etc/passwd', 'passwd'],
    ['..', 'file'],
    ['a/\0b\u202E\n', 'b_'],
    ['x'.repeat(5000), 'x'.repeat(120)],
    [{ toString: 'x' }, 'file'],
  ])('has no say in the name: %j [D3-TOOL-11]', async (path, name) => {
    const handle = handleOf(path);
    const { content } = await fetching.fetch({ handle });
    const expected = `peer-in/${idOf(handle)}-${name}`;
    expect(JSON.parse(content)).toMatchObject({ path: expected });
    expect(fetching.kept).toEqual([expected.slice('peer-in/'.length)]);
    expect(readdirSync(fetching.base)).toEqual(['workdir']);
  });
});
