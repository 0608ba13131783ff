import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';

import { superviseGroup } from './child-group.ts';
import { findProgram } from './find-program.ts';
import { inheritedDescriptors } from './inherited-descriptors.ts';
import { failedStart, malformedRequest, refusedBy } from './launch-refusals.ts';
import type { LaunchOutcome, LaunchRequest, Launcher } from './launcher.ts';
import type { PipeStock } from './pipe-stock.ts';
import { openDescriptors } from './standard-streams.ts';

export interface DirectLauncherOptions {
  readonly cwd: string;
  /** For the standard streams, which are sockets without it; not closed here. */
  readonly pipes?: PipeStock;
  /** How long what a process leaves running may go on writing after its exit; 1,000 when absent. */
  readonly drainMs?: number;
}

/**
 * Starts processes without any kernel enforcement: class `advisory`, mechanism `none` (D1 "Mechanism values").
 * Each gets its own process group, exactly the requested environment and no descriptor of ours but the standard three.
 */
export function createDirectLauncher({ cwd, pipes, drainMs = 1000 }: DirectLauncherOptions): Launcher {
  let inherited: readonly number[] | undefined;
  return {
    async launch(request) {
      const refusal = await refusalOf(request, cwd);
      if (refusal !== null) return { kind: 'refused', reason: refusal };
      const program = findProgram(request.command, request.env.PATH ?? '');
      if (program.kind === 'refused') return program;
      inherited ??= inheritedDescriptors();
      return await start({ program: program.path, request, cwd, pipes, inherited, drainMs });
    },
  };
}

async function refusalOf(request: LaunchRequest, cwd: string): Promise<string | null> {
  const problem = malformedRequest(request);
  if (problem !== null) return problem;
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
  readonly cwd: string;
  readonly pipes: PipeStock | undefined;
  readonly drainMs: number;
  readonly program: string;
  readonly request: LaunchRequest;
  readonly inherited: readonly number[];
}

async function start({ program, request, cwd, pipes, inherited, drainMs }: Start): Promise<LaunchOutcome> {
  const standard = await openDescriptors(pipes, request.stdin);
  const nothing = inherited.length === 0 ? null : openSync('/dev/null', 'r+');
  try {
    const child = spawn(program, request.args, {
      argv0: request.command,
      cwd,
      env: request.env,
      detached: true,
      stdio: [...standard.stdio, ...coverOf(inherited, nothing)],
    });
    const { pid } = child;
    if (pid === undefined) return await failedStart(child);
    return { kind: 'started', process: superviseGroup({ child, pid, ...standard.connect(child) }, drainMs) };
  } catch (error) {
    return refusedBy(error);
  } finally {
    standard.release();
    if (nothing !== null) closeSync(nothing);
  }
}

/** Node cannot close a descriptor in the child, but it can put another in its place. */
function coverOf(inherited: readonly number[], nothing: number | null): readonly (number | 'ignore')[] {
  return Array.from({ length: Math.max(2, ...inherited) - 2 }, (_, index) =>
    nothing !== null && inherited.includes(index + 3) ? nothing : 'ignore',
  );
}
