import type { LaunchEnd } from '@svc/sandbox/launcher.ts';
import type { WorkId } from '@svc/protocol/ids.ts';
import { mostCommands } from './background/background-commands.ts';
import type { CapturedOutput } from './captured-output.ts';
import type { ToolOutcome } from './tool.ts';

export interface FinishedCommand {
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  readonly end: LaunchEnd;
  readonly problems: readonly string[];
  /** Limits of the session that were reached meanwhile. */
  readonly limitsReached: readonly string[];
}

/** By which shells, and the helper's own convention, say that a program could not be started or found. */
const notStarted: ReadonlySet<number> = new Set([126, 127]);

/** A command that ran to completion is a successful call whatever its exit status (D1 "Frame types", `artifact`). */
export function finishedResult(command: string, finished: FinishedCommand): ToolOutcome {
  const { stdout, stderr, end, problems, limitsReached } = finished;
  const exited = end.kind === 'exited';
  const kept = exited && notStarted.has(end.exitCode) ? problems : [];
  const notes = [...kept, ...limitsReached].map((note) => `[${note}]`);
  const ending = exited ? `exit code: ${end.exitCode}` : `ended by signal: ${end.signal}`;
  return {
    status: exited ? 'passed' : 'failed',
    content: [`command: ${command}`, ending, section('stdout', stdout), section('stderr', stderr), ...notes].join('\n'),
    output: stdout.text,
    exitCode: exited ? end.exitCode : null,
    truncated: stdout.cutBytes > 0 || stderr.cutBytes > 0,
  };
}

/** Of a command that outlasted its grace when no more could go on in the background. */
export function endedForRoom(outcome: ToolOutcome, graceMs: number): ToolOutcome {
  const note = `[it was ended after ${graceMs / 1000} s: ${mostCommands} commands go on in the background already, and no more may]`;
  return { ...outcome, status: 'failed', content: `${outcome.content}\n${note}` };
}

type OutputSoFar = Pick<CapturedOutput, 'text' | 'cutBytes'> & {
  /** Of its log. */
  readonly name: string;
};

export interface MovedCommand {
  readonly id: WorkId;
  readonly graceMs: number;
  /** Whether its end arrives as a task. */
  readonly endIsTold: boolean;
  readonly stdout: OutputSoFar;
  readonly stderr: OutputSoFar;
}

/** What a call is answered whose command goes on in the background (ADR 0046). */
export function movedResult(command: string, { id, graceMs, endIsTold, stdout, stderr }: MovedCommand): ToolOutcome {
  const telling = endIsTold
    ? 'its end arrives as a task of its own, unless the session ends before'
    : 'it is ended with the session, and nothing tells of its end';
  return {
    status: 'passed',
    content: [
      `command: ${command}`,
      `still running after ${graceMs / 1000} s: it goes on in the background as ${id}; ${telling}`,
      soFar('stdout', stdout),
      soFar('stderr', stderr),
      `[the outputs go on into ${stdout.name} and ${stderr.name}, out of reach of tools]`,
    ].join('\n'),
    output: stdout.text,
    exitCode: null,
    truncated: stdout.cutBytes > 0 || stderr.cutBytes > 0,
  };
}

function soFar(title: string, { text, cutBytes }: OutputSoFar): string {
  if (text === '' && cutBytes === 0) return `${title} so far: (empty)`;
  const shown = `${title} so far:\n${withoutLastLineEnd(text)}`;
  return cutBytes === 0 ? shown : `${shown}\n[${cutBytes} more bytes are not shown]`;
}

function section(title: string, { text, cutBytes, log }: CapturedOutput): string {
  if (text === '' && cutBytes === 0) return `${title}: (empty)`;
  const shown = `${title}:\n${withoutLastLineEnd(text)}`;
  if (log === null || cutBytes === 0) return shown;
  const kept = log.problem === null ? `the whole is kept in ${log.name}` : `${log.name}: ${log.problem}`;
  return `${shown}\n[${cutBytes} more bytes are not shown; ${kept}, out of reach of tools]`;
}

function withoutLastLineEnd(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}
