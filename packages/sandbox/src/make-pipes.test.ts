import { closeSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

import { helperPipes, namedPipes } from './pipe-pool.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

let directory: string;
eachFolder('svc-pipes-', (made) => {
  directory = made;
});

/** What was written into a pipe, once nobody else can write into it. */
async function passedThrough(readEnd: number, written: string): Promise<string> {
  const writeEnd = openSync(`/proc/self/fd/${readEnd}`, 'w');
  const reading = text(new Socket({ fd: readEnd, readable: true, writable: false }));
  writeFileSync(writeEnd, written);
  closeSync(writeEnd);
  return await reading;
}

describe('pipes with a name', () => {
  it('work by themselves, and leave no file', async () => {
    const made = await namedPipes(directory).make();
    expect(made).toHaveLength(64);
    const texts = await Promise.all(made.map((readEnd, index) => passedThrough(readEnd, `${index}`)));
    expect(texts).toEqual(Array.from({ length: 64 }, (_, index) => `${index}`));
    expect(readdirSync(directory)).toEqual([]);
  });

  it('do not exist where no file can be made', async () => {
    expect(await namedPipes(join(directory, 'missing')).make()).toEqual([]);
  });
});

describe('pipes of a helper', () => {
  it.each([
    ['is not there', null],
    ['ends without a word', '#!/bin/sh\n'],
    ['makes none', '#!/bin/sh\necho; read end\n'],
  ])('do not exist when it %s', async (_what, script) => {
    const helper = join(directory, 'helper');
    if (script !== null) writeFileSync(helper, script, { mode: 0o755 });
    const before = readdirSync('/proc/self/fd');
    expect(await helperPipes(helper).make()).toEqual([]);
    await expect.poll(() => readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before.length);
  });
});
