import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { text } from 'node:stream/consumers';

/** A file that a program opened or started, as it named it. */
export interface TracedFile {
  readonly how: 'opened' | 'started';
  readonly path: string;
}

export interface Traced {
  readonly exitCode: number;
  readonly output: string;
  readonly files: readonly TracedFile[];
}

export interface TracedCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a command under strace. Every file that it and its children opened or started with success, once. */
export async function traceFiles({ argv, cwd, env }: TracedCommand): Promise<Traced> {
  const logs = mkdtempSync(join(tmpdir(), 'traced-'));
  try {
    // A log for each process keeps the two halves of a call together; -y says what a descriptor is.
    const options = ['-ff', '-qq', '-y', '-s', '4096', '-e', 'trace=open,openat,openat2,execve', '-e', 'signal=none'];
    const { exitCode, output } = await run(['strace', ...options, '-o', join(logs, 'log'), ...argv], { cwd, env });
    const lines = readdirSync(logs).flatMap((log) => readFileSync(join(logs, log), 'utf8').split('\n'));
    const found = new Map<string, TracedFile>();
    for (const file of lines.flatMap((line) => parseLine(line, cwd))) found.set(`${file.how} ${file.path}`, file);
    return { exitCode, output, files: [...found.values()] };
  } finally {
    rmSync(logs, { recursive: true });
  }
}

interface RunOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

async function run(argv: readonly string[], options: RunOptions): Promise<{ exitCode: number; output: string }> {
  const [program = '', ...words] = argv;
  // As contained commands get it: bash takes a socket there for a remote login, and reads more files.
  const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { exitCode: child.exitCode ?? -1, output: stdout + stderr };
}

function parseLine(line: string, cwd: string): TracedFile[] {
  const started = /^execve\("((?:[^"\\]|\\.)*)".* = 0$/.exec(line);
  if (started !== null) return [{ how: 'started', path: absolute(started[1] ?? '', cwd) }];
  const opened = /^(?:open|openat|openat2)\((?:[\w-]+<(.*?)>, )?"((?:[^"\\]|\\.)*)", .* = \d+<.*>$/.exec(line);
  return opened === null ? [] : [{ how: 'opened', path: absolute(opened[2] ?? '', opened[1] ?? cwd) }];
}

function absolute(path: string, directory: string): string {
  // Not joined: what stands before a "..", may be a link.
  return isAbsolute(path) ? path : `${directory}/${path}`;
}
