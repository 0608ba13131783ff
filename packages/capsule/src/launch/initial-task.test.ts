import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { findInitialTask, type InitialTask } from './initial-task.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder: string;

eachFolder('svc-initial-task-', (made) => {
  folder = made;
});

const readInput = async (): Promise<string> => 'from standard input';

async function find(flag?: string): Promise<InitialTask | null> {
  return await findInitialTask({
    flag,
    readInput,
    cwd: folder,
    manifestDirectory: folder,
    taskAcceptance: 'none',
    isDelegated: false,
  });
}

describe('the first task', () => {
  it('comes from the parent of a delegated capsule, whatever lies beside its manifest [D2-DELEG-05]', async () => {
    writeFileSync(join(folder, 'task.md'), 'Its own task.');
    const request = { flag: undefined, cwd: folder, manifestDirectory: folder, isDelegated: true, readInput };
    expect(await findInitialTask({ ...request, taskAcceptance: 'single' })).toBeNull();
    expect(await findInitialTask({ ...request, taskAcceptance: 'queue' })).toBeNull();
    await expect(findInitialTask({ ...request, taskAcceptance: 'none' })).rejects.toThrow(
      'a capsule that is delegated to takes messages, and lifecycle.task_acceptance is none',
    );
  });

  it.each([300, 5000, 100_000])('may be a text of %i characters [D1-CLI-02]', async (length) => {
    const text = 'x'.repeat(length);
    expect(await find(text)).toEqual({ text, warnings: [] });
  });

  it.each(['loop', 'loop/below', 'file/below', 'a\0b'])('holds the text %j when no file can be there', async (text) => {
    symlinkSync('loop', join(folder, 'loop'));
    writeFileSync(join(folder, 'file'), '');
    expect((await find(text))?.text).toBe(text);
  });

  it('holds the text of a directory’s name', async () => {
    mkdirSync(join(folder, 'docs'));
    expect(await find('docs')).toEqual({ text: 'docs', warnings: [] });
  });

  it('holds a copy of its file, byte for byte', async () => {
    writeFileSync(join(folder, 'task.txt'), '\uFEFFGrüße\r\n');
    expect((await find('task.txt'))?.text).toBe('\uFEFFGrüße\r\n');
  });

  it.each([
    ['is not UTF-8', Buffer.from([0x47, 0xfc, 0x0a]), 'it is not UTF-8 text'],
    ['is larger than 10 MiB', Buffer.alloc(10 * 1024 * 1024 + 1, 0x61), 'it is larger than 10 MiB'],
  ])('fails when its file %s', async (_name, bytes, reason) => {
    writeFileSync(join(folder, 'task.md'), bytes);
    for (const flag of ['task.md', undefined]) {
      await expect(find(flag)).rejects.toThrow(
        expect.objectContaining({ code: 'E-IO-001', message: expect.stringContaining(reason) }),
      );
    }
  });

  it('may be a file of 10 MiB', async () => {
    writeFileSync(join(folder, 'task.md'), Buffer.alloc(10 * 1024 * 1024, 0x61));
    expect((await find())?.text).toHaveLength(10 * 1024 * 1024);
  });

  it('comes from standard input for -, unless a file has that name', async () => {
    expect(await find('-')).toEqual({ text: 'from standard input', warnings: [] });
    writeFileSync(join(folder, '-'), 'from the file');
    expect((await find('-'))?.text).toBe('from the file');
  });
});
