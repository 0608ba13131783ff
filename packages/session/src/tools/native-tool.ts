/** Makes a tool of a program that is started for each call. */

import * as z from 'zod/mini';

import { CallDeadline } from '@svc/components/call-deadline.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { withDigits } from '@svc/kit/exact-json.ts';
import { JsonShape, parseJsonText } from '@svc/protocol/json-text.ts';
import { decodeMarkedUtf8 } from '@svc/protocol/strict-utf8.ts';
import { endOnAbort, endProcess, OutputTail, readOutput } from '@svc/sandbox/launched-process.ts';
import type { HiddenIn, LaunchedProcess, LaunchEnd, Launcher } from '@svc/sandbox/launcher.ts';
import type { QuestionTurns } from './question-turns.ts';
import { type Tool, type ToolCallContext, type ToolDeclaration, type ToolOutcome, neverReached } from './tool.ts';

const maxAnswerBytes = 16 * 1024 * 1024;
/** Three are asked for; what a tool adds is left alone. */
const maxAnswerValues = 32_768;
const stderrTailBytes = 4096;
const endGraceMs = 2000;

interface NativeToolSettings extends Omit<ToolDeclaration, 'kind'> {
  readonly launcher: Launcher;
  /** Whether the launcher asks about programs, and whether about requests. */
  readonly asksPrograms?: boolean;
  readonly asksRequests?: boolean;
  /** Absolute path of `bin/<name>` as staged. */
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  /** `capabilities.limits.deadline` of the artifact. */
  readonly deadlineMs: number;
  /** Returns what its last words name that is hidden from it; null when they name nothing hidden. */
  readonly hiddenIn?: HiddenIn;
}

/** What a native tool writes to its standard output: this object as JSON and nothing else. */
const answerShape = z.lazy(() =>
  z.object({
    status: z.enum(['passed', 'failed']),
    content: z.string(),
    truncated: z._default(z.boolean(), false),
  }),
);

/**
 * A tool that is a program (`implementation: native`, docs/adr/sessions.md "Protocols of drivers and native tools"): one process per call, which reads
 * `{ "arguments", "call_id" }` from its standard input and writes `{ "status", "content", "truncated"? }` to its standard
 * output. `call_id` is null when the provider gave none. Anything else, a passed deadline or too long an answer is a
 * failed outcome.
 */
export function createNativeTool(settings: NativeToolSettings): Tool {
  const { name, description, inputSchema } = settings;
  return {
    name,
    description,
    kind: 'native',
    inputSchema,
    call: (args, context) => callProgram(args, context, settings),
    warm: () => settings.launcher.prepare?.({ command: settings.program, env: settings.env }),
  };
}

async function callProgram(
  args: Readonly<Record<string, unknown>>,
  context: ToolCallContext,
  settings: NativeToolSettings,
): Promise<ToolOutcome> {
  const { launcher, program, env, name, asksPrograms = false, asksRequests = false } = settings;
  const { narrowed = null } = context;
  const { turns, asking, killed } =
    asksPrograms || asksRequests ? (await import('./asking-launch.ts')).askingLaunch(context, settings) : silent;
  const outcome = await launcher.launch({ command: program, args: [], env, stdin: 'pipe', narrowed, ...asking });
  if (outcome.kind === 'refused') return neverReached(`the tool ${name} could not be started: ${outcome.reason}`);
  const launched = outcome.process;
  const stopListening = endOnAbort(launched, context.signal, endGraceMs);
  const [given, id] = [withDigits(args, context.digits), JSON.stringify(context.callId)];
  launched.stdin?.end(`{"arguments":${given},"call_id":${id}}\n`);
  const result = await finish(launched, settings, { turns, killed });
  stopListening();
  await turns?.over();
  context.signal.throwIfAborted();
  return result;
}

const silent = { turns: null, asking: {}, killed: (): readonly string[] => [] };

async function finish(
  launched: LaunchedProcess,
  settings: NativeToolSettings,
  { turns, killed }: { readonly turns: QuestionTurns | null; readonly killed: () => readonly string[] },
): Promise<ToolOutcome> {
  const { name, deadlineMs, hiddenIn } = settings;
  let late = false;
  const deadline = new CallDeadline(deadlineMs, () => {
    late = true;
    void endProcess(launched, endGraceMs);
  });
  deadline.run();
  turns?.onQuestion((waits) => (waits ? deadline.pause() : deadline.run()));
  const stderr = new OutputTail(stderrTailBytes);
  const [answer, end] = await Promise.all([readAnswer(launched), launched.ended, stderr.read(launched.stderr)]);
  turns?.onQuestion(() => {});
  deadline.stop();
  const refused = [...(launched.takeRefusedHosts?.() ?? []), ...killed()].map((sentence) => `[${sentence}]`);
  const exitCode = end.kind === 'exited' ? end.exitCode : null;
  const failed = (reason: string): ToolOutcome => {
    const said = stderr.text();
    const hidden = hiddenIn?.(said, launched.hides) ?? null;
    const content = [
      `the tool ${name} ${reason} (${endingOf(end)})`,
      ...(hidden === null ? [] : [hidden]),
      ...(said === '' ? [] : [`its last words on stderr:\n${said}`]),
      ...refused,
    ].join('\n');
    return { status: 'failed', content, exitCode, truncated: false };
  };
  if (late) return failed(`did not end within ${deadlineMs / 1000} s`);
  if (answer === undefined) return failed(`answered more than ${maxAnswerBytes} bytes`);
  const parsed = parseAnswer(answer);
  if (parsed === null) return failed('did not answer with the JSON object of a tool result');
  return { ...parsed, content: [parsed.content, ...refused].join('\n'), exitCode };
}

/** Undefined when it is too long: then nobody reads on, and the process is ended. */
async function readAnswer(launched: LaunchedProcess): Promise<Buffer | undefined> {
  const bytes = await readUpTo(readOutput(launched.stdout), maxAnswerBytes);
  if (bytes === undefined) await endProcess(launched, endGraceMs);
  return bytes;
}

function parseAnswer(bytes: Buffer): z.infer<typeof answerShape> | null {
  const text = decodeMarkedUtf8(bytes);
  // Before it is parsed: millions of values take the parser seconds and a gigabyte.
  if (text === null || new JsonShape(maxAnswerValues).add(text, 0, text.length) !== 'fits') return null;
  const parsed = parseJsonText(text);
  return parsed.kind === 'json' ? (answerShape.safeParse(parsed.value).data ?? null) : null;
}

function endingOf(end: LaunchEnd): string {
  return end.kind === 'exited' ? `exit code ${end.exitCode}` : `ended by signal ${end.signal}`;
}
