/** `svc-sandbox`: runs a command that can do no more than its options grant, as if the command itself had been started. */

import { constants } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { isatty } from 'node:tty';

import { printable } from '@svc/kit/diagnostics/printable.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { explain } from '../library/explain.ts';
import { launch } from '../library/launch.ts';
import { keepInHome } from '../library/own-host.ts';
import { probe } from '../library/probe.ts';
import type {
  Ended,
  Launched,
  Refusal,
  SandboxRequest,
  ExplainedFile,
  ExplainedLimit,
  Explanation,
  Probe,
} from '../library/requests.ts';
import { isSandboxError } from '../library/sandbox-error.ts';
import { StartRefusal } from '../library/start-refusal.ts';
import { help, readFlags } from './flags.ts';

const failedItself = 125;
const endedAtLimit = 124;
const signalBase = 128;

/** Signals that are the command's: what ends a program, what a terminal sends, what programs agree on. */
const passedOn = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
] as const satisfies readonly NodeJS.Signals[];

/** What the file that starts `svc-sandbox` passes to it. */
interface Start {
  /** Which build of the package svc this is. Absent in the program of a library, which keeps nothing on disk. */
  readonly build?: string | undefined;
  /** Called when a command has ended. */
  readonly onStarted?: (() => void) | undefined;
}

/** Sets the exit code. Settles once the command has ended, or what was asked for is printed. */
export async function main(args: readonly string[], { build, onStarted }: Start = {}): Promise<void> {
  try {
    process.exitCode = await answer(args, { build, onStarted });
  } catch (error) {
    if (!isSandboxError(error)) throw ended(error);
    say(`error[${error.code}]: ${error.message}`);
    if (error.hint !== undefined) say(`hint: ${error.hint}`);
    process.exitCode = error instanceof StartRefusal ? error.status : failedItself;
  }
}

let isOpened = false;

/** Standard output and error, opened when something is first written to them: most commands write to them alone. */
function outputs(): Pick<NodeJS.Process, 'stdout' | 'stderr'> {
  if (isOpened) return process;
  isOpened = true;
  // A reader that went away ends what it reads, and is no failure of ours. What is lost for another reason is one.
  let isLost = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => (isLost ||= error.code !== 'EPIPE'));
  process.stderr.on('error', () => {});
  process.once('exit', () => {
    if (isLost) process.exitCode = failedItself;
  });
  return process;
}

async function answer(args: readonly string[], { build, onStarted }: Start): Promise<number> {
  const asked = readFlags(args, process.env);
  if (build !== undefined && 'request' in asked) keepInHome(process.env['HOME'], false);
  switch (asked.kind) {
    case 'help':
      outputs().stdout.write(help);
      return 0;
    case 'version':
      outputs().stdout.write(`${packageJson.version}\n`);
      return 0;
    case 'probe': {
      if (build !== undefined) keepInHome(process.env['HOME'], true);
      const found = await probe();
      outputs().stdout.write(asked.json ? `${JSON.stringify(found)}\n` : renderProbe(found));
      return found.class === null ? failedItself : 0;
    }
    case 'explain': {
      const explanation = await explain(asked.request);
      outputs().stdout.write(asked.json ? `${JSON.stringify(explanation)}\n` : renderExplanation(explanation));
      return 0;
    }
    case 'run': {
      const status = await run(asked.request, asked.quiet);
      onStarted?.();
      return status;
    }
    case 'misused':
      say(`error: ${asked.message}`);
      say(`hint: ${asked.hint}`);
      return failedItself;
  }
}

async function run(request: SandboxRequest, quiet: boolean): Promise<number> {
  const isBounded = request.grants?.limits?.outputBytes !== undefined;
  // From the first moment on: a signal that comes while the command is being started is the command's too.
  const passTo = catchSignals();
  const launched = await launch({
    ...request,
    ...withTerminal(request),
    stdin: 'inherit',
    output: isBounded ? 'pipe' : 'inherit',
  });
  passTo(launched);
  for (const warning of quiet ? [] : launched.warnings) say(`warning: ${warning}`);
  if (isBounded) handOver(launched);
  const end = await launched.ended;
  for (const refusal of quiet ? [] : end.refused) say(refusalLine(refusal));
  return statusOf(end);
}

/** A reader that goes away closes the output of the command, which then sees what it would without us. */
function handOver({ stdout, stderr }: Launched): void {
  const to = outputs();
  for (const [from, into] of [[stdout, to.stdout] as const, [stderr, to.stderr] as const]) {
    void pipeline(from, into, { end: false }).catch(() => {});
  }
}

/** On a terminal the command gets its TERM, so that it can draw. */
function withTerminal({ grants = {} }: SandboxRequest): Pick<SandboxRequest, 'grants'> {
  const term = isatty(1) ? process.env['TERM'] : undefined;
  return term === undefined ? {} : { grants: { ...grants, env: { TERM: term, ...grants.env } } };
}

/**
 * The command has a session of its own, so what the terminal sends comes here first. A stop stops it, then this program; what continues this program
 * continues it. The returned function says to whom signals go, those first that came before.
 */
function catchSignals(): (launched: Launched) => void {
  const early: NodeJS.Signals[] = [];
  let running: Launched | null = null;
  const pass = (signal: NodeJS.Signals): void => {
    if (running === null) early.push(signal);
    else running.kill(signal);
  };
  for (const signal of passedOn) process.on(signal, () => pass(signal));
  process.on('SIGTSTP', () => {
    // Only in a root of its own is there somebody in its session for whom it would stop.
    pass(running?.class === 'sealed' ? 'SIGTSTP' : 'SIGSTOP');
    process.kill(process.pid, 'SIGSTOP');
  });
  process.on('SIGCONT', () => pass('SIGCONT'));
  return (launched) => {
    running = launched;
    for (const signal of early.splice(0)) launched.kill(signal);
  };
}

function refusalLine(refusal: Refusal): string {
  if (refusal.kind === 'limit') return refusal.reason;
  return `refused: ${refusal.destination ?? 'a request'} (${refusal.reason})`;
}

function statusOf({ exitCode, signal, endedBy }: Ended): number {
  if (endedBy !== 'command') {
    say(`the command was ended: it passed its limit of ${endedBy}`);
    return endedAtLimit;
  }
  return exitCode ?? signalBase + (signal === null ? 0 : constants.signals[signal]);
}

/** A bug of ours must not pass for an answer of the command, which ends with this process. */
function ended(error: unknown): unknown {
  process.on('exit', () => {
    process.exitCode = failedItself;
  });
  return error;
}

function say(line: string): void {
  outputs().stderr.write(`svc-sandbox: ${printable(line)}\n`);
}

/** `--explain`: a heading and lines for each part. */
function renderExplanation(explanation: Explanation): string {
  const { class: wanted, mechanism, program, args, cwd, network, env, limits, notStopped, warnings } = explanation;
  const parts: readonly (readonly [heading: string, lines: readonly string[]])[] = [
    [`Class ${wanted}, by ${mechanism}`, [`runs ${[program, ...args].join(' ')}`, `starts in ${cwd}`]],
    [`Files, by ${explanation.filesHeldBy}`, fileLines(explanation.files)],
    [`Network, by ${explanation.networkHeldBy}`, network.length === 0 ? ['none'] : network],
    ['Variables', [env.join(', ')]],
    ['Limits', limits.flatMap(limitLines)],
    ['Not stopped', notStopped],
    ['Warnings', warnings],
  ];
  return parts
    .filter(([, lines]) => lines.length > 0)
    .map(([heading, lines]) => `${printable(heading)}\n${lines.map((line) => `  ${printable(line)}\n`).join('')}`)
    .join('\n');
}

const words: Readonly<Record<ExplainedFile['access'], string>> = {
  read: 'read',
  run: 'read and run',
  write: 'read and write',
  'write and run': 'read, write and run',
  own: 'write, empty at first, gone afterwards',
};

/** What was granted and what is its own, each; what its programs need, counted by the directories at the top. */
function fileLines(files: readonly ExplainedFile[]): readonly string[] {
  const [needed, others] = [true, false].map((isNeeded) => files.filter(({ why }) => (why === 'needed') === isNeeded));
  const lines = (others ?? []).map(
    ({ path, access, why }) => `${path}: ${words[access]}${why === 'kept' ? keptWord : ''}`,
  );
  const few = (needed ?? []).length <= maxLines;
  if (few) return [...lines, ...(needed ?? []).map(({ path, access }) => `${path}: ${words[access]}, needed`)];
  const tops = new Map<string, number>();
  for (const { path, access } of needed ?? []) {
    const top = `/${path.split('/')[1]}: ${words[access]}`;
    tops.set(top, (tops.get(top) ?? 0) + 1);
  }
  return [...lines, ...[...tops].map(([top, count]) => `${top}, ${count} needed (--json lists them)`)];
}

const keptWord = ', since it contains the command';

const maxLines = 40;

function limitLines({ limit, most, of, heldBy }: ExplainedLimit): readonly string[] {
  return most === null ? [] : [`${limit} ${most}, ${of === 'command' ? 'in all' : 'of each process'}: ${heldBy}`];
}

/** `--probe`: the class, and for each stronger one what stands in its way. */
function renderProbe({ class: found, mechanism, obstacles }: Probe): string {
  const lines = (['sealed', 'scoped', 'advisory'] as const).map((each) => {
    const obstacle = obstacles[each];
    return `  ${each}: ${obstacle === null ? 'yes' : `no, ${printable(obstacle)}`}\n`;
  });
  return `This machine can enforce ${found ?? 'nothing'}, by ${mechanism}\n${lines.join('')}`;
}
