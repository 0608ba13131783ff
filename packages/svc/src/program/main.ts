/** The program `svc`: leads from the command line to a command and its exit code. */

import { fstatSync, readFileSync } from 'node:fs';
import { isatty } from 'node:tty';

import { errorCode, isCoded } from '@svc/kit/diagnostics/system-reason.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { version } from '@svc/kit/version.ts';
import { redactHandles } from '@svc/kit/diagnostics/handle-id.ts';
import { homeDirectory } from '@svc/kit/files/home-directory.ts';
import { render, renderFailure } from '@svc/terminal/screen/render-failure.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { say, sayLines, type Shown } from '@svc/terminal/screen/shown.ts';
import { run } from '../run/run.ts';
import { plainRunOptions } from '../run/run-options.ts';
import { StandardStreams } from '../command/standard-streams.ts';

/** Exit codes of `svc` (docs/cli.md "The command line"). */
const usageError = 2;
const bugInSvc = 70;

/** What the file that starts `svc` passes to it. */
interface Start {
  /** Which build of the program this is. */
  readonly build?: string;
  /** Called when a capsule's listener is up. */
  readonly onStarted?: () => void;
}

/** `svc`: argv to command to exit code. */
export async function main(args: readonly string[], { build, onStarted }: Start = {}): Promise<void> {
  const streams = new StandardStreams();
  // How rows are laid out is read where somebody looks at them.
  const [showsOut, showsErrors] = [isTerminal(1), isTerminal(2)];
  const terminal =
    showsOut || showsErrors ? (await import('@svc/terminal/screen/terminal-kind.ts')).terminalOf(process.env) : null;
  const context: CommandContext = {
    get cwd() {
      return workingDirectory();
    },
    get home() {
      return homeDirectory(process.env['HOME']);
    },
    env: process.env,
    stdout: new Output(
      () => streams.stdout,
      showsOut ? terminal : null,
      process.env,
      (text) => streams.writeFirst(text),
    ),
    stderr: new Output(() => streams.stderr, showsErrors ? terminal : null, process.env),
    ...(build === undefined ? {} : { build }),
    ...(onStarted === undefined ? {} : { onStarted }),
  };
  process.on('uncaughtException', (error) => {
    process.exit(report(error, context));
  });
  process.on('exit', () => {
    const loss = streams.loss();
    if (loss === null || (process.exitCode ?? 0) !== 0) return;
    process.exitCode = report(loss, context);
  });
  try {
    const line = meantBy(args);
    const plain = line[0] === 'run' ? plainRunOptions(line.slice(1)) : null;
    if (plain !== null) process.exitCode = await run(plain, context);
    else if (!(await isServed(line, context))) await (await import('./program.ts')).runProgram(line, context);
  } catch (error) {
    process.exitCode = report(error, context);
  }
}

/** Whether the line was `svc serve` in a form that needs no parser, and has been served. */
async function isServed(line: readonly string[], context: CommandContext): Promise<boolean> {
  return line[0] === 'serve' && (await (await import('../serve/plain-serve.ts')).servedPlainly(line.slice(1), context));
}

/** `svc` alone, on a terminal, is `svc chat`, and so is `svc --continue`, except for a script. */
function meantBy(args: readonly string[]): readonly string[] {
  const isScript = args.some((word) => /^(?:-p|--print|--output)(?:=|$)/.test(word));
  if (!isScript && (args[0] === '--continue' || args[0] === '-c')) return ['chat', ...args];
  return args.length === 0 && isatty(0) && isTerminal(1) ? ['chat'] : args;
}

/**
 * Every terminal is a character device; `node:tty` is loaded to ask whether one of those is a terminal. Asked for big numbers: Node finds the
 * real path of a module by the plain ones that it got last, and takes those of a pipe for a path that ends there.
 */
function isTerminal(descriptor: 1 | 2): boolean {
  return fstatSync(descriptor, { bigint: true }).isCharacterDevice() && isatty(descriptor);
}

/** Asked for by the commands that need it; `E-IO-001` once it has been removed. */
function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new Diagnostic('E-IO-001', 'the current directory has been removed', {
      hint: 'change to one that is there',
      cause: error,
    });
  }
}

function report(error: unknown, context: CommandContext): number {
  const failure = renderFailure(error, context) ?? renderReplaced(error, context);
  if (failure !== null) {
    context.stderr.write(failure);
    // A name that fits several sessions is a wrong command line.
    return error instanceof Diagnostic && error.code === 'E-RUN-091' ? usageError : 1;
  }
  reportBug(error, context);
  return bugInSvc;
}

/** What fails in a program whose files are those of another is no bug of it. Returns null while they are its own. */
function renderReplaced(error: unknown, context: CommandContext): Shown | null {
  if (context.build === undefined || isInstalled(context.build)) return null;
  const [what = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  const replaced = new Diagnostic('E-RUN-170', `svc was replaced or removed while it ran: ${what}`, {
    hint: 'run the command again; a capsule that was running has to be started again',
    cause: error,
  });
  return render([replaced], context);
}

/** Whether the start file, which begins with the name of its build, is still of this one. */
function isInstalled(build: string): boolean {
  try {
    return readFileSync(import.meta.filename, 'latin1').startsWith(`/*${build}*/`);
  } catch {
    // Whatever the system's reason, this process has no more of it.
    return false;
  }
}

function reportBug(error: unknown, context: CommandContext): void {
  if (isCoded(error) && error.code === 'MODULE_NOT_FOUND') {
    const [missing = ''] = error.message.split('\n');
    context.stderr.write(say`svc: a part of svc ${version} is missing, install it again: ${missing}\n`);
    return;
  }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  context.stderr.write(
    say`svc: this is a bug in svc ${version}, please report it:\n${sayLines(redactHandles(trace))}\n`,
  );
}
