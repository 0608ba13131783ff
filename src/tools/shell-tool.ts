import { endOnAbort } from '../containment/end-process.ts';
import type { LaunchEnd, Launcher } from '../containment/launcher.ts';
import { captureOutput, type CapturedOutput } from './captured-output.ts';
import { commandWords, isShell } from './command-words.ts';
import { neverReached } from './dispatch.ts';
import { OutputLog } from './output-log.ts';
import type { Tool, ToolCallContext, ToolOutcome } from './tool.ts';

/** Of each output, what the model sees of it (contracts §5). */
const shownBytes = 16 * 1024;
/** Of each output, what the log keeps of it. A command may write on; the rest is read and dropped. */
const loggedBytes = 64 * 1024 * 1024;
const endGraceMs = 2000;

export interface ShellSettings {
  readonly launcher: Launcher;
  readonly env: Readonly<Record<string, string>>;
  /** Long outputs are kept in its `logs/`. */
  readonly sessionDirectory: string;
}

/** One tool per name of `capabilities.shell.allow` (contracts §5). */
export function createShellTools(names: readonly string[], settings: ShellSettings): readonly Tool[] {
  let calls = 0;
  return [...new Set(names)].map((name) => ({
    name,
    description: descriptionOf(name),
    kind: 'shell',
    inputSchema: {
      type: 'object',
      properties: { command: { type: 'string', description: commandDescription(name) } },
      required: ['command'],
      additionalProperties: false,
    },
    call: (args, context) => {
      calls += 1;
      return callShell({ name, command: String(args.command), number: calls }, context, settings);
    },
    warm: () => settings.launcher.prepare?.({ command: name, env: settings.env }),
  }));
}

interface ShellCall {
  readonly name: string;
  readonly command: string;
  /** Tells the logs of a session apart. */
  readonly number: number;
}

async function callShell(call: ShellCall, context: ToolCallContext, settings: ShellSettings): Promise<ToolOutcome> {
  const { name, command, number } = call;
  const split = commandWords(name, command);
  if (split.kind === 'unbalanced') return neverReached(`the command cannot be split into words: ${split.reason}`);
  const { launcher, env, sessionDirectory } = settings;
  const outcome = await launcher.launch({ command: name, args: split.words, env, stdin: 'null' });
  if (outcome.kind === 'refused') return neverReached(`${name} could not be started: ${outcome.reason}`);
  const launched = outcome.process;
  const stopListening = endOnAbort(launched, context.signal, endGraceMs);
  const log = (stream: string): OutputLog =>
    new OutputLog(sessionDirectory, `logs/${number}-${name}-${stream}.log`, loggedBytes);
  const [stdout, stderr, end] = await Promise.all([
    captureOutput(launched.stdout, shownBytes, log('stdout')),
    captureOutput(launched.stderr, shownBytes, log('stderr')),
    launched.ended,
  ]);
  stopListening();
  context.signal.throwIfAborted();
  const { problems = [] } = outcome;
  return resultOf(isShell(name) ? command : `${name} ${command}`.trimEnd(), { stdout, stderr, end, problems });
}

interface FinishedCommand {
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  readonly end: LaunchEnd;
  readonly problems: readonly string[];
}

/** By which shells, and the helper's own convention, say that a program could not be started or found. */
const notStarted: ReadonlySet<number> = new Set([126, 127]);

/** A command that ran to completion is a successful call whatever its exit status (D1 "Frame types", `artifact`). */
function resultOf(command: string, { stdout, stderr, end, problems }: FinishedCommand): ToolOutcome {
  const exited = end.kind === 'exited';
  const notes = exited && notStarted.has(end.exitCode) ? problems.map((problem) => `[${problem}]`) : [];
  const ending = exited ? `exit code: ${end.exitCode}` : `ended by signal: ${end.signal}`;
  return {
    status: exited ? 'passed' : 'failed',
    content: [`command: ${command}`, ending, section('stdout', stdout), section('stderr', stderr), ...notes].join('\n'),
    output: stdout.text,
    exitCode: exited ? end.exitCode : null,
    truncated: stdout.cutBytes > 0 || stderr.cutBytes > 0,
  };
}

function section(title: string, { text, cutBytes, log }: CapturedOutput): string {
  if (text === '' && cutBytes === 0) return `${title}: (empty)`;
  const shown = `${title}:\n${text.endsWith('\n') ? text.slice(0, -1) : text}`;
  if (log === null) return shown;
  const kept = log.problem === null ? `the whole is kept in ${log.name}` : `${log.name}: ${log.problem}`;
  return `${shown}\n[${cutBytes} more bytes are not shown; ${kept}, out of reach of tools]`;
}

function descriptionOf(name: string): string {
  const what = isShell(name) ? `Runs a command line with ${name}` : `Runs the program ${name}`;
  return `${what}, in the working directory at every call, and gives its exit code, stdout and stderr. Standard input is empty, and what is left running is ended.`;
}

function commandDescription(name: string): string {
  return isShell(name)
    ? `The command line, as for ${name} -c.`
    : `The arguments of ${name}, without the name itself. Quotes and backslashes group words; there is no shell, so no variables, patterns, pipes or redirections.`;
}
