import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { buildSync } from 'esbuild';
import { describe, expect, it } from 'vitest';

import { appendWhole, fillSync, writeAllSync } from './transfer-sync.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder: string;
eachFolder('svc-transfer-', (made) => {
  folder = made;
});

/** Opens a file of the folder for `use`, and closes it. */
function opened<Value>(name: string, flags: string, use: (descriptor: number) => Value): Value {
  const descriptor = openSync(join(folder, name), flags);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

describe('reading at once', () => {
  it('fills from a place as far as the file goes', () => {
    writeFileSync(join(folder, 'file'), 'abcdef');
    const bytes = Buffer.alloc(4, '.');
    expect(opened('file', 'r', (file) => fillSync(file, bytes, 1))).toBe(4);
    expect(bytes.toString()).toBe('bcde');
    const rest = Buffer.alloc(4, '.');
    expect(opened('file', 'r', (file) => fillSync(file, rest, 4))).toBe(2);
    expect(rest.toString()).toBe('ef..');
  });

  it('goes on where a pipe gives its bytes in parts', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const writer = spawn('sh', ['-c', 'printf abc; sleep 0.2; printf def; sleep 0.2; printf g'], {
      stdio: ['ignore', openSync(join(folder, 'pipe'), 'r+'), 'inherit'],
    });
    const bytes = Buffer.alloc(7);
    expect(opened('pipe', 'r', (pipe) => fillSync(pipe, bytes, null))).toBe(7);
    expect(bytes.toString()).toBe('abcdefg');
    await new Promise((resolve) => writer.once('close', resolve));
  });
});

describe('writing at once', () => {
  it('puts bytes at a place, and without one behind each other', () => {
    writeFileSync(join(folder, 'file'), '......');
    opened('file', 'r+', (file) => {
      writeAllSync(file, Buffer.from('cd'), 2);
      writeAllSync(file, Buffer.from('a'));
      writeAllSync(file, Buffer.from('b'));
    });
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('abcd..');
  });

  it('throws what the system refuses', () => {
    const full = openSync('/dev/full', 'w');
    expect(() => writeAllSync(full, Buffer.from('x'))).toThrow('ENOSPC');
    expect(() => appendWhole(full, [Buffer.from('x'), Buffer.from('y')])).toThrow('ENOSPC');
    closeSync(full);
  });

  it('appends one piece and several', () => {
    opened('file', 'a', (file) => {
      appendWhole(file, [Buffer.from('one ')]);
      appendWhole(file, [Buffer.from('two '), Buffer.from(''), Buffer.from('three')]);
    });
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('one two three');
  });

  it('leaves nothing of pieces of which the system takes a part', () => {
    // The limit of a file's size is 1,024 bytes for the shell and what it starts.
    const program = `
      const { openSync } = require('node:fs');
      const { appendWhole } = require('./transfer-sync.cjs');
      const file = openSync('file', 'a');
      appendWhole(file, [Buffer.alloc(1000, 'a')]);
      try { appendWhole(file, [Buffer.alloc(20, 'b'), Buffer.alloc(20, 'c')]); } catch (error) { console.log(error.code); }
      appendWhole(file, [Buffer.alloc(10, 'd')]);
    `;
    writeFileSync(join(folder, 'program.cjs'), program);
    buildSync({
      entryPoints: [join(import.meta.dirname, 'transfer-sync.ts')],
      outfile: join(folder, 'transfer-sync.cjs'),
      platform: 'node',
      format: 'cjs',
    });
    const limited = ['-c', `ulimit -f 1; trap '' XFSZ; exec ${process.execPath} program.cjs`];
    const said = execFileSync('bash', limited, { cwd: folder, encoding: 'utf8' });
    expect(said).toBe('EFBIG\n');
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe(`${'a'.repeat(1000)}${'d'.repeat(10)}`);
  });
});
