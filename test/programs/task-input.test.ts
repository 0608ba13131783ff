import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { onlySession, useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

interface End {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `svc run --task -` with these bytes as its standard input. */
async function runWith(workspace: Workspace, input: Uint8Array | string): Promise<End> {
  const child = spawn(process.execPath, [program, 'run', '--task', '-'], {
    cwd: workspace.folder,
    env: { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' },
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  // It need not read everything.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...said };
}

describe('svc run --task -', () => {
  it('takes the whole of standard input for the task, as it came', async () => {
    const workspace = capsule({ files: { 'task.md': 'Another task.' } });
    const text = `  Grüße\r\n${'x'.repeat(200_000)}\n`;
    expect(await runWith(workspace, text)).toMatchObject({ code: 0, stderr: '' });
    const task = join(workspace.folder, 'workdir', onlySession(workspace), 'task.md');
    expect(readFileSync(task, 'utf8')).toBe(text);
  });

  it.each([
    ['is empty', '', 'error[E-RUN-024]: the task is empty (standard input)\nhint: write what'],
    ['holds only space', ' \n', 'error[E-RUN-024]: the task is empty (standard input)\nhint: write what'],
    [
      'is larger than 10 MiB',
      Buffer.alloc(10 * 1024 * 1024 + 1, 0x61),
      'error[E-RUN-060]: the task cannot be read from standard input: it is larger than 10 MiB\n',
    ],
    [
      'is no text',
      Buffer.from([0x47, 0xfc]),
      'error[E-RUN-060]: the task cannot be read from standard input: it is not UTF-8 text\n',
    ],
  ])('refuses the run when that %s', async (_name, input, refusal) => {
    const workspace = capsule();
    const { code, stdout, stderr } = await runWith(workspace, input);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.startsWith(refusal)).toBe(true);
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
  });

  it('appears in the help', async () => {
    expect((await svc(capsule(), ['run', '--help'])).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'a file with the task, or the task itself; - reads it from standard input',
    );
  });
});

describe.skipIf(!hasPseudoTerminals())('svc run --task - on a terminal (skipped without python3)', () => {
  it('says that it reads, and how to stop it', async () => {
    const reading = new TerminalProcess(capsule(), ['run', '--task', '-']);
    await reading.shows(/^reading the task from this terminal; Ctrl-D on an empty line ends it/);
    reading.child.kill('SIGTERM');
    expect(await reading.ended).toBe(1);
    expect(reading.raw).toContain('error[E-RUN-060]');
    expect(reading.raw).not.toContain('hint');
    expect(reading.raw).not.toContain('svc: url');
  });
});
