/** Makes a tool of each command of the shell grant. */

import type { LogBudget } from '@svc/kit/log-budget.ts';
import type { WorkId } from '@svc/protocol/ids.ts';
import type { LaunchedProcess, Launcher, LaunchEnd } from '@svc/sandbox/launcher.ts';
import { type BackgroundCommands, maxCommands } from './background/background-commands.ts';
import { OutputCapture, OutputLog, type CapturedOutput, type CutBefore } from './captured-output.ts';
import type { QuestionTurns } from './question-turns.ts';
import { commandWords, isShell, shellDeclaration } from './shell-command.ts';
import { type Tool, type ToolCallContext, type ToolOutcome, neverReached } from './tool.ts';

/** How much of each output the model sees (docs/adr/sessions.md "How a shell command ends"). */
const shownBytes = 16 * 1024;
/** How much of each output the log keeps. A command may write more; the rest is read and dropped. */
const loggedBytes = 64 * 1024 * 1024;

interface ShellSettings {
  readonly launcher: Launcher;
  readonly env: Readonly<Record<string, string>>;
  /** Long outputs are kept in its `logs/`. */
  readonly sessionDirectory: string;
  /** The bytes that all logs of the session may still take. */
  readonly logs: LogBudget;
  readonly cutBefore: CutBefore;
  /** What the last words of a command that failed name that is hidden from it, a sentence each. */
  readonly explainHidden?: (said: string, hides: (path: string) => boolean) => Promise<readonly string[]>;
  /** Whether the launcher asks about hosts, about programs and about requests. */
  readonly asksHosts?: boolean;
  readonly asksPrograms?: boolean;
  readonly asksRequests?: boolean;
  /** Where a command goes that outlasts its call. */
  readonly background: BackgroundCommands;
}

/** One tool per name of `capabilities.shell.allow` (docs/manifest.md "Keys"). */
export function createShellTools(names: readonly string[], settings: ShellSettings): readonly Tool[] {
  let calls = 0;
  return [...new Set(names)].map((name) => createShellTool(name, () => (calls += 1), settings));
}

function createShellTool(name: string, nextCall: () => number, settings: ShellSettings): Tool {
  return {
    ...shellDeclaration(name, settings.background.settings),
    call: (args, context) => callShell({ name, command: String(args.command), number: nextCall() }, context, settings),
    warm: () => settings.launcher.prepare?.({ command: name, env: settings.env }),
  };
}

interface ShellCall {
  readonly name: string;
  readonly command: string;
  /** Distinguishes the logs of a session. */
  readonly number: number;
}

async function callShell(call: ShellCall, context: ToolCallContext, settings: ShellSettings): Promise<ToolOutcome> {
  const { name, command } = call;
  const split = commandWords(name, command);
  if (split.kind === 'unbalanced') return neverReached(`the command cannot be split into words: ${split.reason}`);
  const { launcher, env } = settings;
  const { narrowed = null } = context;
  const { asksHosts, asksPrograms, asksRequests } = settings;
  const asksAny = [asksHosts, asksPrograms, asksRequests].includes(true);
  const { turns, asking, killed } = asksAny
    ? (await import('./asking-launch.ts')).askingLaunch(context, settings)
    : silent;
  const outcome = await launcher.launch({ command: name, args: split.words, env, stdin: 'null', narrowed, ...asking });
  if (outcome.kind === 'refused') return neverReached(`${name} could not be started: ${outcome.reason}`);
  const { process: launched, problems = [] } = outcome;
  try {
    return await watch({ call, launched, problems, turns, killed }, context, settings);
  } finally {
    await turns?.over();
  }
}

const silent = { turns: null, asking: {}, killed: (): readonly string[] => [] };

interface StartedCall {
  readonly call: ShellCall;
  readonly launched: LaunchedProcess;
  readonly problems: readonly string[];
  readonly turns: Pick<QuestionTurns, 'open'> | null;
  readonly killed: () => readonly string[];
}

/** The result of a command that ends within its grace; else what there is to say of it so far. */
async function watch(
  { call: { name, command, number }, launched, problems, turns, killed }: StartedCall,
  { taskId, signal, onOutput, isAwaited = false }: ToolCallContext,
  { sessionDirectory, logs, cutBefore, background, explainHidden }: ShellSettings,
): Promise<ToolOutcome> {
  const capture = (output: 'stdout' | 'stderr'): OutputCapture => {
    const file = `logs/${number}-${name}-${output}.log`;
    const log = new OutputLog(sessionDirectory, file, { maxBytes: loggedBytes, budget: logs });
    const told =
      onOutput === undefined ? {} : { onPiece: (bytes: Buffer) => onOutput({ name, number, output }, bytes) };
    return new OutputCapture(launched[output], { maxBytes: shownBytes, log, cutBefore, ...told });
  };
  const [stdout, stderr] = [capture('stdout'), capture('stderr')];
  const shown = isShell(name) ? command : `${name} ${command}`.trimEnd();
  let isMoved = false;
  const finished = Promise.all([stdout.finished, stderr.finished, launched.ended]).then(async ([out, err, end]) => {
    const { hides } = launched;
    const hasFailed = end.kind === 'exited' && end.exitCode !== 0;
    const hidden = hasFailed && hides !== undefined ? ((await explainHidden?.(err.text, hides)) ?? []) : [];
    const happened = [
      ...(launched.limitsReached?.() ?? []),
      ...(launched.takeRefusedHosts?.() ?? []),
      ...killed(),
      ...hidden,
    ];
    return finishedResult(shown, { stdout: out, stderr: err, end, problems, happened, isMoved });
  });
  const started = {
    taskId,
    name,
    command: shown,
    process: launched,
    finished,
    isAwaited,
    question: () => turns?.open ?? null,
  };
  const watched = await background.watch(started, signal);
  const { graceMs, endIsTold } = background.settings;
  if (watched.kind !== 'moved') {
    signal.throwIfAborted();
    return watched.kind === 'ended' ? await finished : endedForRoom(await finished, graceMs);
  }
  isMoved = true;
  return movedResult(shown, {
    id: watched.id,
    graceMs,
    endIsTold,
    stdout: stdout.keepOn(),
    stderr: stderr.keepOn(),
  });
}

interface FinishedCommand {
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  readonly end: LaunchEnd;
  readonly problems: readonly string[];
  /** Sentences on limits of the session that were reached meanwhile, on hosts that it was refused, and on paths that are hidden from it. */
  readonly happened: readonly string[];
  /** Its call ended before the command did. */
  readonly isMoved: boolean;
}

/** The exit codes by which shells and the helper say that a program could not be started or was not found. */
const notStarted: ReadonlySet<number> = new Set([126, 127]);

/** A command that ran to completion is a successful call whatever its exit status (D1 "Frame types", `artifact`). */
function finishedResult(command: string, finished: FinishedCommand): ToolOutcome {
  const { stdout, stderr, end, problems, happened, isMoved } = finished;
  const exited = end.kind === 'exited';
  const kept = exited && notStarted.has(end.exitCode) ? problems : [];
  const notes = [...kept, ...happened].map((note) => `[${note}]`);
  const ending = exited ? `exit code: ${end.exitCode}` : `ended by signal: ${end.signal}`;
  return {
    status: exited ? 'passed' : 'failed',
    content: [
      `command: ${command}`,
      ending,
      section('stdout', stdout, isMoved),
      section('stderr', stderr, isMoved),
      ...notes,
    ].join('\n'),
    output: stdout.text,
    exitCode: exited ? end.exitCode : null,
    truncated: stdout.cutBytes > 0 || stderr.cutBytes > 0,
  };
}

/** The outcome of a command that outlasted its grace when no further command could go on in the background. */
function endedForRoom(outcome: ToolOutcome, graceMs: number): ToolOutcome {
  const note = `[it was ended after ${graceMs / 1000} s: ${maxCommands} commands go on in the background already, and no more may]`;
  return { ...outcome, status: 'failed', content: `${outcome.content}\n${note}` };
}

type OutputSoFar = Pick<CapturedOutput, 'text' | 'cutBytes'>;

interface MovedCommand {
  readonly id: WorkId;
  readonly graceMs: number;
  /** Whether its end arrives as a task. */
  readonly endIsTold: boolean;
  readonly stdout: OutputSoFar;
  readonly stderr: OutputSoFar;
}

/** What a call is answered whose command goes on in the background (docs/adr/sessions.md "A command that outlasts its grace"). */
function movedResult(command: string, { id, graceMs, endIsTold, stdout, stderr }: MovedCommand): ToolOutcome {
  const [telling, output] = endIsTold
    ? [
        'its end arrives as a task of its own, unless the session ends before',
        `its end brings the first ${shownBytes / 1024} KiB of each output`,
      ]
    : ['it is ended with the session, and its end is not reported', 'what it writes from now on is not shown'];
  return {
    status: 'passed',
    content: [
      `command: ${command}`,
      `still running after ${graceMs / 1000} s: it goes on in the background as ${id}; ${telling}`,
      soFar('stdout', stdout),
      soFar('stderr', stderr),
      `[${output}; what a command writes into a file can be read while it runs]`,
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

/** How the model comes by the rest of an output. */
const readInParts = 'what a command writes into a file can be read in parts';

/** For a command that outlasted its call only its model reads the output: it does not name a log that tools cannot reach. */
function section(title: string, { text, cutBytes, log }: CapturedOutput, isMoved: boolean): string {
  if (text === '' && cutBytes === 0) return `${title}: (empty)`;
  const shown = `${title}:\n${withoutLastLineEnd(text)}`;
  if (log === null || cutBytes === 0) return shown;
  if (isMoved) return `${shown}\n[${cutBytes} more bytes are not shown]`;
  const kept = log.problem === null ? `the whole is kept in ${log.name}` : `${log.name}: ${log.problem}`;
  return `${shown}\n[${cutBytes} more bytes are not shown; ${kept}, out of reach of tools: ${readInParts}]`;
}

function withoutLastLineEnd(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}
