/** Starts processes where the kernel enforces nothing. */

import { closeSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { inheritedDescriptors } from '@svc/kit/files/inherited-descriptors.ts';
import { unlessRefusedLater } from '@svc/kit/files/unless-refused.ts';
import { findProgram, malformedRequest } from './find-program.ts';
import type { LaunchOutcome, LaunchRequest, Launcher } from './launcher.ts';
import { PipePool, namedPipes } from './pipe-pool.ts';
import { startProcess } from './start-process.ts';
import type { SessionContainment, SessionPlace } from './session-containment.ts';

interface DirectLauncherOptions {
  readonly cwd: string;
  /** For a canonical `cwd`: a link that has come to be on the way there refuses the launch. Links are followed when absent. */
  readonly refusesLinks?: true;
  /** For the standard streams, which are sockets without it; not closed here. */
  readonly pipes?: PipePool;
  /** How long what a process leaves running may go on writing after its exit; 1,000 when absent. */
  readonly drainMs?: number;
}

/**
 * Starts processes without any kernel enforcement: class `advisory`, mechanism `none` (D1 "Mechanism values").
 * Each gets its own process group, exactly the requested environment and no descriptor of ours but the standard three.
 */
export function createDirectLauncher(options: DirectLauncherOptions): Launcher {
  const { cwd, refusesLinks, pipes, drainMs = 1000 } = options;
  let inherited: readonly number[] | undefined;
  return {
    async launch(request) {
      const problem = malformedRequest(request);
      if (problem !== null) return { kind: 'refused', reason: problem };
      if (!(await isDirectory(cwd))) return { kind: 'refused', reason: 'the working directory does not exist' };
      const program = findProgram(request.command, request.env.PATH ?? '');
      if (program.kind === 'refused') return program;
      inherited ??= inheritedDescriptors();
      const place = openPlace(cwd, refusesLinks ?? false);
      if (place.kind === 'refused') return place;
      try {
        return await start({
          program: program.path,
          request,
          cwd: place.directory?.path ?? cwd,
          pipes,
          inherited,
          drainMs,
        });
      } finally {
        place.directory?.close();
      }
    },
  };
}

type Place =
  | { readonly kind: 'found'; readonly directory: HeldDirectory | null }
  | Extract<LaunchOutcome, { readonly kind: 'refused' }>;

/** Held open until the process has started there: nothing can be put in its place between this look at it and that. */
function openPlace(cwd: string, refusesLinks: boolean): Place {
  if (!refusesLinks) return { kind: 'found', directory: null };
  try {
    return { kind: 'found', directory: HeldDirectory.open(cwd) };
  } catch (error) {
    if (isObstacle(error)) return { kind: 'refused', reason: 'a part of the working directory has become a link' };
    if (isErrno(error, 'ENOENT')) return { kind: 'refused', reason: 'the working directory does not exist' };
    throw error;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return await unlessRefusedLater(async () => (await stat(path)).isDirectory(), false);
}

interface Start {
  readonly cwd: string;
  readonly pipes: PipePool | undefined;
  readonly drainMs: number;
  readonly program: string;
  readonly request: LaunchRequest;
  readonly inherited: readonly number[];
}

async function start({ program, request, cwd, pipes, inherited, drainMs }: Start): Promise<LaunchOutcome> {
  const nothing = inherited.length === 0 ? null : openSync('/dev/null', 'r+');
  try {
    const others = coverOf(inherited, nothing);
    const start = {
      program,
      args: request.args,
      argv0: request.command,
      cwd,
      env: request.env,
      others,
      pipes,
      drainMs,
    };
    const started = await startProcess(request, start);
    return started.kind === 'refused' ? started : { kind: 'started', process: started.process };
  } finally {
    if (nothing !== null) closeSync(nothing);
  }
}

/** Node cannot close a descriptor in the child, but it can put another in its place. */
function coverOf(inherited: readonly number[], nothing: number | null): readonly (number | 'ignore')[] {
  return Array.from({ length: Math.max(2, ...inherited) - 2 }, (_, index) =>
    nothing !== null && inherited.includes(index + 3) ? nothing : 'ignore',
  );
}

/** Starts the processes of one session where the kernel enforces nothing. */
export function openDirectSession({ workdir, privateDirectory }: SessionPlace): SessionContainment {
  const pipes = new PipePool(namedPipes(privateDirectory));
  return {
    launcher: ({ scope, project }) => {
      const cwd = project === undefined || project.isWorkdir ? join(workdir, scope) : project.path;
      return createDirectLauncher({ cwd, refusesLinks: true, pipes });
    },
    close: () => pipes.close(),
  };
}
