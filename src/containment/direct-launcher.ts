import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';

import { superviseGroup } from './child-group.ts';
import { findProgram } from './find-program.ts';
import { inheritedDescriptors } from './inherited-descriptors.ts';
import type { LaunchOutcome, LaunchRequest, LaunchedProcess, Launcher } from './launcher.ts';

export interface DirectLauncherOptions {
  readonly cwd: string;
  /** How long what a process leaves running may go on writing after its exit; 1,000 when absent. */
  readonly drainMs?: number;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such command',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  E2BIG: 'the arguments are too long',
  ENOMEM: 'the host is out of memory',
  EAGAIN: 'the host allows no more processes',
  EMFILE: 'no more files can be opened',
  ENFILE: 'no more files can be opened',
  ETXTBSY: 'the file is open for writing',
  ELOOP: 'too many symbolic links',
};

/**
 * Starts processes without any kernel enforcement: class `advisory`, mechanism `none` (D1 "Mechanism values").
 * Each gets its own process group, exactly the requested environment and no descriptor of ours but the standard three.
 */
export function createDirectLauncher({ cwd, drainMs = 1000 }: DirectLauncherOptions): Launcher {
  let inherited: readonly number[] | undefined;
  return {
    async launch(request) {
      const refusal = await refusalOf(request, cwd);
      if (refusal !== null) return { kind: 'refused', reason: refusal };
      const program = await findProgram(request.command, request.env.PATH ?? '');
      if (program.kind === 'refused') return program;
      inherited ??= inheritedDescriptors();
      return start({ program: program.path, request, cwd, inherited, drainMs });
    },
  };
}

async function refusalOf(request: LaunchRequest, cwd: string): Promise<string | null> {
  if (request.args.some((arg) => arg.includes('\0'))) return 'an argument holds a NUL character';
  const variables = Object.entries(request.env);
  if (variables.some(([name, value]) => `${name}${value}`.includes('\0'))) {
    return 'an environment variable holds a NUL character';
  }
  return (await isDirectory(cwd)) ? null : 'the working directory does not exist';
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false;
  }
}

interface Start {
  readonly program: string;
  readonly request: LaunchRequest;
  readonly cwd: string;
  readonly inherited: readonly number[];
  readonly drainMs: number;
}

async function start({ program, request, cwd, inherited, drainMs }: Start): Promise<LaunchOutcome> {
  const nothing = inherited.length === 0 ? null : openSync('/dev/null', 'r+');
  try {
    const child = spawn(program, request.args, {
      argv0: request.command,
      cwd,
      env: request.env,
      detached: true,
      stdio: descriptorsOf(request, inherited, nothing),
    });
    if (child.pid === undefined) return await failureOf(child);
    return { kind: 'started', process: superviseChild(child, drainMs) };
  } catch (error) {
    return refusedBy(error);
  } finally {
    if (nothing !== null) closeSync(nothing);
  }
}

/** Node cannot close a descriptor in the child, but it can put another in its place. */
function descriptorsOf(request: LaunchRequest, inherited: readonly number[], nothing: number | null): StdioOptions {
  const covered = Array.from({ length: Math.max(2, ...inherited) - 2 }, (_, index): number | 'ignore' =>
    nothing !== null && inherited.includes(index + 3) ? nothing : 'ignore',
  );
  return [request.stdin === 'pipe' ? 'pipe' : 'ignore', 'pipe', 'pipe', ...covered];
}

async function failureOf(child: ChildProcess): Promise<LaunchOutcome> {
  const [error] = (await once(child, 'error')) as [unknown];
  return refusedBy(error);
}

/** A failed `spawn` system call as a refusal; anything else is a bug and goes on. */
function refusedBy(error: unknown): LaunchOutcome {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall?.startsWith('spawn') !== true) throw error;
  return { kind: 'refused', reason: reasons[code] ?? `the system answered ${code}` };
}

function superviseChild(child: ChildProcess, drainMs: number): LaunchedProcess {
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw new Error('a started child lacks its pipes');
  return superviseGroup({ child, pid, stdout, stderr }, drainMs);
}
