import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { onlySession, taskFile, useCapsules } from '../support/capsule-folders.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

describe('a disk that refuses (needs root, to mount one)', () => {
  const isRoot = process.getuid?.() === 0;

  it.skipIf(!isRoot)('the trace in the middle of a task ends the session as trapped, every line whole', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: runsCommand(`: ${'x'.repeat(100_000)}`),
      files: taskFile,
    });
    await withSmallDisk(workspace, async (small) => {
      const { code, stdout, stderr } = await svc(workspace, ['run']);
      // Nobody asked for the journal, which takes none of the little that there is.
      expect(stderr).toMatch(
        /^warning\[W-RUN-063\]: the session goes on without a journal: less than 16777216 bytes are left .*\nhint: .*\nerror\[E-IO-002\]: the trace .* cannot be written: no space left on the device\nhint: /,
      );
      expect(stdout).toMatch(/\nstatus: {2}trapped\n$/);
      expect(code).toBe(2);
      expect(readdirSync(join(small, onlySession(workspace)))).not.toContain('journal.jsonl');
      const lines = readFileSync(join(small, onlySession(workspace), 'trace.jsonl'), 'utf8').split('\n');
      expect(lines.slice(0, -1).map((line) => (JSON.parse(line) as { event_type: string }).event_type)).toEqual([
        'session_start',
        'task_received',
        'task_start',
        'inference',
        'session_end',
      ]);
      expect(lines.at(-1)).toBe('');
    });
  });

  it.skipIf(!isRoot)('the trace at its start leaves stdout empty', async () => {
    const workspace = capsule();
    await withSmallDisk(workspace, async () => {
      const { code, stdout, stderr } = await svc(workspace, ['run', '--json', '--task', 'x'.repeat(100_000)]);
      expect(stderr).toMatch(/^error\[E-IO-002\]: the trace .* cannot be written: no space left on the device\n/);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    });
  });

  it.skipIf(!isRoot)('the result of a task fails the task, and standard error says so', async () => {
    const reply = 'x'.repeat(100_000);
    const workspace = capsule({
      script: `- content: [{ type: text, text: ${reply} }]\n  stop_reason: end_turn\n`,
      files: taskFile,
    });
    const small = join(workspace.folder, 'small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]);
    try {
      const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', small]);
      expect(stderr).toBe(
        `error[E-RUN-059]: the task failed: E-IO-001: out/result.txt cannot be written in ${small}: no space left on the device\n`,
      );
      expect(stdout).toMatch(/\nstatus: {2}failed\n$/);
      expect(code).toBe(1);
    } finally {
      execFileSync('umount', [small]);
    }
  });

  it.skipIf(!isRoot)('the result of a task loses no answer of svc -p, which is printed beside the reason', async () => {
    const reply = 'x'.repeat(100_000);
    const workspace = capsule({ script: `- content: [{ type: text, text: ${reply} }]\n  stop_reason: end_turn\n` });
    const small = join(workspace.folder, 'small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]);
    try {
      const args = ['run', '-p', 'Go.', '--workdir', small];
      const message = `out/result.txt cannot be written in ${small}: no space left on the device`;
      const hint = 'free some space and run the command again';
      expect(await svc(workspace, args)).toEqual({
        code: 1,
        signal: null,
        stdout: `${reply}\n`,
        stderr: `error[E-IO-001]: ${message}\nhint: ${hint}\n`,
      });
      const { stdout } = await svc(workspace, [...args, '--output', 'json']);
      expect(JSON.parse(stdout)).toMatchObject({
        status: 'failed',
        state: 'failed',
        answer: reply,
        reason: { code: 'E-IO-001', message, hint },
      });
    } finally {
      execFileSync('umount', [small]);
    }
  });

  it.skipIf(!isRoot)('a workdir on a read-only file system is a coded error before anything is said', async () => {
    const workspace = capsule({ files: taskFile });
    const sealed = join(workspace.folder, 'sealed');
    mkdirSync(sealed);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=64k', 'tmpfs', sealed]);
    try {
      const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', join(sealed, 'work')]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-IO-001\]: the directory .* cannot be made: the file system is read-only/);
    } finally {
      execFileSync('umount', [sealed]);
    }
  });
});

/** Puts the traces of a workspace on a file system of 64 KiB while `use` runs. */
async function withSmallDisk(workspace: Workspace, use: (small: string) => Promise<void>): Promise<void> {
  const small = join(workspace.folder, 'small');
  mkdirSync(small);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]);
  try {
    mkdirSync(join(workspace.folder, '.svc'));
    symlinkSync(small, join(workspace.folder, '.svc', 'sessions'));
    await use(small);
  } finally {
    execFileSync('umount', [small]);
  }
}
