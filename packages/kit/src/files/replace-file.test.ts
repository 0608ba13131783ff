import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { replacementContract } from '../../../../test/support/replacement-contract.ts';
import { replaceFile, replaceFileSync, TemporaryFile, writeNewFileSync, writeTemporary } from './replace-file.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const file = { path: 'file', mode: 0o640 };

describe('a file', () => {
  for (const isDurable of [true, false]) {
    const options = { mode: 0o640, isDurable };
    replacementContract(`replaced at once, durable ${isDurable},`, {
      ...file,
      write: (directory, variant) => replaceFileSync(join(directory, 'file'), Buffer.from(variant), options),
    });
    replacementContract(`replaced in pieces, durable ${isDurable},`, {
      ...file,
      write: (directory, variant) => replaceFile(join(directory, 'file'), [...Buffer.from(variant)].map(one), options),
    });
  }
});

function one(byte: number): Buffer {
  return Buffer.of(byte);
}

describe('a temporary file', () => {
  let directory: string;
  eachFolder('svc-temporary-', (made) => void (directory = made));

  it('disappears when it was not kept', () => {
    const temporary = new TemporaryFile(directory);
    expect(readdirSync(directory)).toHaveLength(1);
    temporary.close();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('may be gone already', () => {
    const temporary = new TemporaryFile(directory);
    rmSync(temporary.path);
    expect(() => temporary.close()).not.toThrow();
  });

  it('disappears when it could not take its place', () => {
    mkdirSync(join(directory, 'file/work'), { recursive: true });
    expect(() => replaceFileSync(join(directory, 'file'), Buffer.from('text'))).toThrow('EISDIR');
    expect(readdirSync(directory)).toEqual(['file']);
  });

  it('never replaces a pipe or a device', async () => {
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    symlinkSync('/dev/null', join(directory, 'null'));
    for (const name of ['pipe', 'null']) {
      const path = join(directory, name);
      await expect(replaceFile(path, [Buffer.from('text')])).rejects.toThrow(
        `cannot write ${path}: it is a device, a pipe or a socket`,
      );
    }
    expect([statSync(join(directory, 'pipe')).isFIFO(), readdirSync(directory)]).toEqual([true, ['null', 'pipe']]);
    expect(statSync(join(directory, 'null')).isCharacterDevice()).toBe(true);
  });

  it('takes a name that is free, and no other', () => {
    const path = join(directory, 'file');
    writeNewFileSync(path, Buffer.from('first'), 0o640);
    expect(() => writeNewFileSync(path, Buffer.from('second'))).toThrow('EEXIST');
    symlinkSync('nowhere', join(directory, 'link'));
    expect(() => writeNewFileSync(join(directory, 'link'), Buffer.from('third'))).toThrow('EEXIST');
    expect(readFileSync(path, 'utf8')).toBe('first');
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(directory)).toEqual(['file', 'link']);
  });

  it('disappears when its bytes did not come', async () => {
    writeFileSync(join(directory, 'file'), 'old');
    const broken = (async function* () {
      yield Buffer.from('half');
      throw new Error('the source broke');
    })();
    await expect(writeTemporary(directory, broken)).rejects.toThrow('the source broke');
    expect(readdirSync(directory)).toEqual(['file']);
  });
});
