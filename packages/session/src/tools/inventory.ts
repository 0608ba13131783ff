/** Holds every tool that the model of a session can call, and carries out its calls. */

import { toUSVString } from 'node:util';

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import { beyondNumbers } from '@svc/kit/exact-json.ts';
import { fittingLength } from '@svc/protocol/json-length.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { ArgumentCheck } from './argument-check.ts';
import {
  type CallCeiling,
  type CallVerdict,
  type CheckedCall,
  type DispatchedCall,
  type FileOperation,
  neverReached,
  type OtherTools,
  type RequestedCall,
  type RequestQuestions,
  type Tool,
  type ToolDeclaration,
  type ToolCallContext,
  type ToolOutcome,
  type CallRefusal,
  type ProgramQuestions,
} from './tool.ts';
import { GivenSkills, withArguments } from './skills/given-skills.ts';
import { fenceUntrusted } from './untrusted-fence.ts';

export interface DispatchContext extends Omit<
  ToolCallContext,
  'callId' | 'digits' | 'tools' | 'narrowed' | 'judgeChange' | 'requests' | 'programs'
> {
  /** Judges what the component of a call is about to change; absent, or undefined, in a session without approvals. */
  readonly approveChange?: ((call: CheckedCall, change: FileOperation) => Promise<CallVerdict>) | undefined;
  /** Has the requests of a call judged; absent, or undefined, in a session without approvals. */
  readonly requestsOf?: ((call: CheckedCall) => RequestQuestions | null) | undefined;
  /** Has the programs judged that a call starts; absent, or undefined, in a session without approvals. */
  readonly programsOf?: ((call: CheckedCall) => ProgramQuestions | null) | undefined;
  /** Called with a file that the component of a tool was refused. */
  readonly onRefusedFile?: (file: RefusedFile) => void;
}

/** A file that a component asked for and did not get. */
export interface RefusedFile {
  readonly path: string;
  readonly rule: string;
  /** The tool. */
  readonly by: string;
}

/** A tool with the check of its arguments. */
interface CallableTool {
  readonly tool: Tool;
  readonly argumentCheck: ArgumentCheck;
}

type GivenContext = Omit<DispatchContext, 'onRefusedFile'>;

type CallAtHand = Pick<DispatchedCall, 'kind' | 'callId' | 'startMs'> & {
  readonly name: string;
  readonly startedMs: number;
};

/** Names that belong to the runtime, whether or not it offers the tool in this session. */
const runtimeToolNames: ReadonlySet<string> = new Set([
  'delegate-task',
  'share-file',
  'fetch-peer-file',
  'submit-plan',
]);

/** Each warm component is a process that holds some 20 MB. */
const maxWarmed = 4;

interface CuttingRedactor {
  cutBefore(text: string): string;
}

/** Everything the model of a session can call, by name. */
export class Inventory {
  /** The tools as the model sees them, in the order of their names. */
  readonly definitions: readonly Omit<ToolDeclaration, 'kind'>[];
  readonly names: readonly string[];
  /** In the order of their names, with the skills that people alone call. */
  readonly tools: readonly Tool[];
  readonly skills: GivenSkills;
  readonly #tools: ReadonlyMap<string, CallableTool>;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'now'>;
  readonly #redactor: CuttingRedactor;
  readonly #ceiling: CallCeiling | null;
  readonly #soon: readonly CallableTool[];
  #started = false;
  #warmed = false;

  /**
   * `redactor` takes the beginning of a secret from the end of a result that is cut; `ceiling` is null where no skill has a list. Throws when two tools share a name or one takes a name of the
   * runtime (`E-CAP-014`, `E-CAP-013`).
   */
  constructor(
    tools: readonly Tool[],
    clock: Pick<Clock, 'monotonicMs' | 'now'>,
    redactor: CuttingRedactor = { cutBefore: (text) => text },
    ceiling: CallCeiling | null = null,
  ) {
    const problems = nameProblems(tools);
    if (problems.length > 0) throw new DiagnosticList(problems);
    const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.tools = sorted;
    const offered = sorted.filter(({ callers }) => callers !== 'people');
    this.names = offered.map(({ name }) => name);
    this.definitions = offered.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    this.#tools = new Map(
      sorted.map((tool) => [tool.name, { tool, argumentCheck: new ArgumentCheck(tool.inputSchema) }]),
    );
    this.#soon = [...this.#tools.values()].filter(({ tool }) => tool.callers !== 'people').slice(0, maxWarmed);
    this.#clock = clock;
    this.#redactor = redactor;
    this.#ceiling = ceiling;
    this.skills = new GivenSkills(sorted, ceiling);
  }

  /** Called when a task has settled: the next one begins with no skill in use. */
  taskEnded(taskId: string): void {
    this.skills.ended(taskId);
    this.#ceiling?.ended(taskId);
  }

  /** Starts the components among the first tools as a task begins: a process takes longer to be ready than many a model to answer. */
  startComponents(): void {
    if (this.#started) return;
    this.#started = true;
    for (const { tool } of this.#soon) if (tool.kind === 'wasm') tool.warm?.();
  }

  /** Gets the first tools ready while the model request is in flight, off the critical path. */
  warm(): void {
    if (this.#warmed) return;
    this.#warmed = true;
    for (const { tool, argumentCheck } of this.#soon) {
      if (tool.kind !== 'wasm') tool.warm?.();
      argumentCheck.warm();
    }
  }

  /**
   * Carries out one call of the model; unknown names and unfit arguments come back as results. Rejects only with the reason of an aborted signal, or
   * for a bug.
   */
  async dispatch(call: RequestedCall, context: DispatchContext): Promise<DispatchedCall> {
    const startMs = this.#clock.now();
    const startedMs = this.#clock.monotonicMs();
    const callId = call.id === '' ? null : call.id;
    const found = this.#offered(call.name);
    const outcome: DispatchOutcome =
      found === undefined
        ? { ...neverReached(unknownTool(call.name, this.names)), refusal: { rule: 'not offered', by: 'svc' } }
        : await callChecked(found, call.input, this.#ceiling, {
            ...context,
            callId,
            digits: call.digits,
            tools: this.#toolsFor(context),
            ...refusedFilesOf(call.name, context),
          });
    context.onJudged?.({ name: call.name, kind: found?.tool.kind ?? 'unknown', refusal: outcome.refusal ?? null });
    const kind = found?.tool.kind ?? 'unknown';
    const dispatched = this.#dispatched(outcome, { name: call.name, kind, callId, startMs, startedMs });
    if (kind === 'skill' && !dispatched.isError && argumentsOf(call.input)?.['file'] === undefined)
      this.skills.add(context.taskId, { name: call.name, text: dispatched.content });
    return dispatched;
  }

  /**
   * Gives a skill to a task as the person who sent it asked: no model has called it, and no hook judges it. `text` is what stands for `$ARGUMENTS` in its text
   * (docs/skills.md "A skill by its name"). Rejects only with the reason of an aborted signal, or for a bug.
   */
  async giveSkill(name: string, text: string, context: GivenContext): Promise<DispatchedCall> {
    const startMs = this.#clock.now();
    const startedMs = this.#clock.monotonicMs();
    const tool = this.#tools.get(name)?.tool;
    const isThere = tool !== undefined && this.skills.names.includes(name);
    const given = isThere ? await tool.call({}, { ...context, callId: null, tools: this.#toolsFor(context) }) : null;
    const outcome = given === null ? neverReached(`there is no skill ${name}`) : withArguments(given, text);
    const call = this.#dispatched(outcome, { name, kind: 'skill', callId: null, startMs, startedMs });
    if (call.isError) return call;
    this.#ceiling?.use(context.taskId, name);
    this.skills.add(context.taskId, { name, text: call.content });
    return call;
  }

  /** What the model can call under this name. */
  #offered(name: string): CallableTool | undefined {
    const found = this.#tools.get(name);
    return found?.tool.callers === 'people' ? undefined : found;
  }

  #dispatched(outcome: DispatchOutcome, { name, kind, callId, startMs, startedMs }: CallAtHand): DispatchedCall {
    const reached = outcome.reached !== false;
    const fenceSource = reached && kind !== 'skill' ? `tool:${name}` : null;
    const { text: content, isCut } = shownText(outcome.content, this.#redactor);
    return {
      toolName: name,
      kind,
      content: fenceSource === null ? content : fenceUntrusted(fenceSource, content),
      fenceSource,
      unfenced: content,
      output: outcome.output === undefined ? content : shownText(outcome.output, this.#redactor).text,
      callId,
      isError: !reached || outcome.status !== 'passed',
      startMs,
      durationMs: elapsedMs(this.#clock, startedMs),
      exitCode: reached ? outcome.exitCode : null,
      truncated: reached && (outcome.truncated || isCut),
      reached,
      denied: outcome.denied === true,
    };
  }

  /** The tools that a call of this context may make calls to itself. */
  #toolsFor(context: DispatchContext): OtherTools {
    return {
      kindOf: (name) => this.#offered(name)?.tool.kind,
      dispatch: (inner, step) => this.dispatch(inner, { ...context, place: `${context.place}/s${step}` }),
    };
  }
}

function nameProblems(tools: readonly Tool[]): Diagnostic[] {
  const problems: Diagnostic[] = [];
  const seen = new Map<string, Tool>();
  for (const tool of tools) {
    const other = seen.get(tool.name);
    if (tool.kind !== 'runtime' && runtimeToolNames.has(tool.name)) {
      problems.push(new Diagnostic('E-CAP-013', `${described(tool)} takes the name of a runtime tool`));
    } else if (other !== undefined) {
      problems.push(
        new Diagnostic('E-CAP-014', `${described(other)} and ${described(tool)} share one name`, {
          hint: 'take one of them out, or give a tool of an MCP server another name in tools of its entry: { <tool>: <name> }',
        }),
      );
    }
    seen.set(tool.name, tool);
  }
  return problems;
}

function described({ kind, name, artifact }: Tool): string {
  if (artifact !== undefined) return `the tool ${name} of the artifact ${artifact}`;
  if (kind === 'shell') return `the shell command ${name}`;
  return kind === 'runtime' ? `the runtime tool ${name}` : `the artifact ${name}`;
}

/**
 * Limit for the result of a call, as the JSON that frames and drivers hold it in: as much as a native tool may answer. NUL characters take
 * six times their number there.
 */
const maxResultBytes: number = 16 * 1024 * 1024;

/** Text of a tool as frame, trace and model hold it: the same for all, so without halves of characters, and cut for all. */
function shownText(given: string, redactor: CuttingRedactor): { readonly text: string; readonly isCut: boolean } {
  // The part that is cut off is not even searched for halves of characters.
  const text = toUSVString(given.slice(0, maxResultBytes));
  const length = fittingLength(text, maxResultBytes);
  if (length === given.length) return { text, isCut: false };
  const shown = redactor.cutBefore(text.slice(0, length));
  const note = `[${given.length - shown.length} more characters are not shown: as JSON, a result has at most ${maxResultBytes} bytes]`;
  return { text: `${shown}\n${note}`, isCut: true };
}

interface DispatchOutcome extends ToolOutcome {
  readonly denied?: true;
  readonly refusal?: CallRefusal;
}

async function callChecked(
  found: CallableTool,
  input: unknown,
  ceiling: CallCeiling | null,
  context: DispatchContext & ToolCallContext,
): Promise<DispatchOutcome> {
  const { tool, argumentCheck } = found;
  const args = argumentsOf(input);
  if (args === null) return unfit(`the arguments of ${tool.name} are not a JSON object`);
  const beyond = context.digits === undefined ? null : beyondNumbers(context.digits);
  if (beyond !== null) {
    const where = `arguments${beyond.pointer.replaceAll('/', '.')}`;
    return unfit(
      `the arguments of ${tool.name} hold a number that is too large for any tool: ${where} is ${shortened(beyond.text, 100)}; write a smaller one, or text where the tool takes it`,
    );
  }
  const problems = await context.settle(async () => {
    const found = await argumentCheck.problemsOf(args);
    return found.length === 0 ? null : found;
  });
  if (problems !== null) {
    return unfit([`the arguments of ${tool.name} do not fit its input schema:`, ...problems].join('\n'));
  }
  context.signal.throwIfAborted();
  const { callId, digits, judge, approveChange, requestsOf, programsOf, taskId, place } = context;
  const held = ceiling?.judge(taskId, tool, args) ?? unheld;
  if (held.kind === 'refused') {
    return { ...neverReached(held.reason), refusal: { rule: held.rule, by: 'svc' } };
  }
  const { name: toolName, kind, artifact } = tool;
  const call: CheckedCall = { toolName, kind, artifact, callId, arguments: args, digits, place };
  const verdict = await judge(call);
  if (verdict.kind === 'deny') {
    const { reason, by, isShown } = verdict;
    const refusal = by === undefined ? {} : { refusal: { rule: reason, by } };
    return { ...neverReached(reason), ...(isShown === true ? {} : { denied: true }), ...refusal };
  }
  context.signal.throwIfAborted();
  const outcome = await tool.call(args, {
    ...context,
    narrowed: held.narrowed,
    requests: requestsOf?.(call) ?? undefined,
    programs: programsOf?.(call) ?? undefined,
    ...(approveChange === undefined ? {} : { judgeChange: (change: FileOperation) => approveChange(call, change) }),
  });
  if (tool.kind === 'skill' && outcome.status === 'passed') ceiling?.use(taskId, tool.name);
  return outcome;
}

const unheld = { kind: 'allowed', narrowed: null } as const;

function refusedFilesOf(by: string, { onRefusedFile }: DispatchContext): Pick<ToolCallContext, 'onFileRefused'> {
  return onRefusedFile === undefined ? {} : { onFileRefused: (path, rule) => onRefusedFile({ path, rule, by }) };
}

function unfit(content: string): DispatchOutcome {
  return { ...neverReached(content), refusal: { rule: 'input_schema', by: 'svc' } };
}

/** Providers write the arguments of a call without arguments as empty text or null. */
function argumentsOf(input: unknown): Readonly<Record<string, unknown>> | null {
  if (input === null || input === undefined || input === '') return {};
  if (typeof input !== 'object' || Array.isArray(input)) return null;
  return input as Readonly<Record<string, unknown>>;
}

function unknownTool(name: string, names: readonly string[]): string {
  const asked = JSON.stringify(shortened(name, 100));
  const available = names.length === 0 ? 'there are no tools' : `the tools are ${names.join(', ')}`;
  return `there is no tool named ${asked}; ${available}`;
}

interface TracedCall {
  readonly taskId: TaskId;
  readonly turn: number;
  /** The arguments as the model gave them. */
  readonly input: unknown;
  readonly call: DispatchedCall;
}

/** The one trace line of a dispatched call; its `duration_ms` is the artifact frame's. */
export function callTrace({ taskId, turn, input, call }: TracedCall): TraceEvent {
  const common = {
    task_id: taskId,
    turn,
    tool_call_id: call.callId,
    arguments: input,
    is_error: call.isError,
    start_ms: call.startMs,
    duration_ms: call.durationMs,
    content_bytes: Buffer.byteLength(call.content),
  };
  const outcome = { exit_code: call.exitCode, truncated: call.truncated };
  switch (call.kind) {
    case 'skill':
      return { event_type: 'skill_call', ...common, skill_name: call.toolName };
    case 'shell':
      return { event_type: 'shell', ...common, ...outcome, command_name: call.toolName };
    case 'wasm':
    case 'native':
    case 'mcp':
    case 'runtime':
    case 'unknown':
      return { event_type: 'tool_call', ...common, ...outcome, tool_name: call.toolName, tool_kind: call.kind };
  }
}
