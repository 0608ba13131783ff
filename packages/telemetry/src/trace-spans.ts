/** Makes spans, logs and measures of the lines of a trace (docs/telemetry.md "Spans"). */

import { toUSVString } from 'node:util';

import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { mintedMs } from '@svc/protocol/ids.ts';
import type { TraceLine } from '@svc/record/trace/events.ts';
import { attributes as names, operations, otherError, providers, toolTypes } from './genai-names.ts';
import { logOf } from './trace-logs.ts';
import type { MetricTotals } from './metric-totals.ts';
import { type Attribute, AttributeList, type LogRecord, type SpanRecord, spanKinds } from './otlp-records.ts';
import { isKept, type Sampler, spanIdOf, type TaskTrace, taskTrace, traceIdOf } from './task-trace.ts';

/** Takes what is made. */
export interface TelemetrySink {
  span(span: SpanRecord): void;
  log(log: LogRecord): void;
  readonly totals: MetricTotals;
}

export interface TraceSpansOptions {
  readonly sampler: Sampler;
  /** Takes secrets out of a text that others gave. */
  readonly redact: (text: string) => string;
}

type LineOf<Type extends TraceLine['event_type']> = Extract<TraceLine, { event_type: Type }>;
type Call = LineOf<'tool_call' | 'shell' | 'skill_call'>;

/** A task whose end may still be taken back by a hook. */
interface OpenTask {
  readonly trace: TaskTrace;
  readonly line: Pick<LineOf<'task_received'>, 'timestamp' | 'task_id' | 'context_id' | 'origin'>;
  attempts: number;
  /** What its first inference read and its last one said, where content is sent. */
  input: Attribute | null;
  output: Attribute | null;
  end: LineOf<'task_end' | 'task_canceled'> | null;
}

interface OpenDelegation {
  readonly line: LineOf<'delegation'>;
  readonly trace: TaskTrace;
}

/** Tasks and delegations that a trace leaves open; more than these can only be in one that was made up. */
const maxOpen = 100_000;
/** A name that a model, a provider or an artifact gave, in characters. */
const maxName = 256;
const noContent: readonly Attribute[] = [];

/** Is given the lines of one session in their order. A span is made once its end is certain; a child may come before its parent. */
export class TraceSpans {
  readonly #sink: TelemetrySink;
  readonly #sampler: Sampler;
  readonly #redact: (text: string) => string;
  readonly #capsule: { readonly name: string; readonly version: string };
  readonly #provider: string | null;
  readonly #sessionId: string;
  /** What no task is behind. */
  readonly #sessionTrace: TaskTrace;
  readonly #tasks = new Map<string, OpenTask>();
  readonly #delegations = new Map<string, OpenDelegation>();

  constructor(start: LineOf<'session_start'>, sink: TelemetrySink, { sampler, redact }: TraceSpansOptions) {
    this.#sink = sink;
    this.#sampler = sampler;
    this.#redact = redact;
    this.#capsule = { name: this.#shown(start.capsule.name), version: this.#shown(start.capsule.version) };
    this.#provider = start.driver === undefined ? null : (providers[start.driver] ?? this.#shown(start.driver));
    this.#sessionId = start.session_id;
    const traceId = traceIdOf(start.session_id);
    this.#sessionTrace = { traceId, spanId: '', parentSpanId: null, isSampled: isKept(traceId, sampler) };
  }

  /** `content` is what may be said of prompts and results. */
  take(line: TraceLine, content: readonly Attribute[] = noContent): void {
    switch (line.event_type) {
      case 'task_received':
        return this.#open(line);
      case 'task_start':
        return this.#attempt(line);
      case 'inference':
        return this.#inference(line, content);
      case 'tool_call':
      case 'shell':
      case 'skill_call':
        return this.#call(line, content);
      case 'plan_step':
        return this.#step(line, content);
      case 'delegation':
        return this.#delegation(line);
      case 'task_canceled':
        return this.#canceled(line);
      case 'task_end':
        return this.#ended(line);
      case 'plan_end':
        return this.#endChildrenOfPlan(line);
      case 'session_end':
        return this.finish();
      default:
        return this.#log(line);
    }
  }

  /** The hooks of a task have spoken: its end holds. */
  settled(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined || task.end === null) return;
    this.#tasks.delete(taskId);
    this.#invocation(task, task.end);
  }

  #open({ timestamp, task_id, context_id, origin, traceparent }: LineOf<'task_received'>): void {
    if (this.#tasks.size >= maxOpen) return;
    const trace = taskTrace(task_id, traceparent, this.#sampler);
    // Without its text, which may be long.
    const line = { timestamp, task_id, context_id, origin };
    this.#tasks.set(task_id, { trace, line, attempts: 0, input: null, output: null, end: null });
  }

  /** A task that came to its end before another one begins is not reopened any more. */
  #attempt(line: LineOf<'task_start'>): void {
    this.#settleOthers(line.task_id);
    const task = this.#tasks.get(line.task_id);
    if (task === undefined) return;
    task.attempts = line.attempt;
    task.end = null;
  }

  #settleOthers(taskId: string): void {
    for (const [id, { end }] of this.#tasks) if (end !== null && id !== taskId) this.settled(id);
  }

  #ended(line: LineOf<'task_end'>): void {
    const task = this.#tasks.get(line.task_id);
    if (task !== undefined) task.end = line;
  }

  /** Ends a task that waited in the queue, which has no other end. */
  #canceled(line: LineOf<'task_canceled'>): void {
    const task = this.#tasks.get(line.task_id);
    if (!line.queued || task === undefined) return;
    task.end = line;
    this.settled(line.task_id);
  }

  /** No line comes any more: no end is taken back. What came to no end is no span. */
  finish(): void {
    for (const id of this.#tasks.keys()) this.settled(id);
  }

  #invocation({ trace, line, attempts, input, output }: OpenTask, end: NonNullable<OpenTask['end']>): void {
    const { name, version } = this.#capsule;
    const isEnd = end.event_type === 'task_end';
    const state = isEnd ? end.state : 'canceled';
    const errorType = state === 'failed' ? 'task_failed' : null;
    this.#sink.totals.agent(name, (end.timestamp - line.timestamp) / 1000, errorType);
    if (!trace.isSampled) return;
    const attributes = new AttributeList()
      .add(names.operation, operations.agent)
      .add(names.agentName, name)
      .add(names.agentVersion, version)
      .add(names.conversation, this.#shown(line.context_id))
      .add(names.inputTokens, isEnd ? end.usage.input_tokens : null)
      .add(names.outputTokens, isEnd ? end.usage.output_tokens : null)
      .add(names.session, this.#sessionId)
      .add(names.task, line.task_id)
      .add(names.taskOrigin, line.origin)
      .add(names.taskState, state)
      .add(names.attempts, attempts)
      .add(names.errorType, errorType)
      .addAll([input, output].filter((each) => each !== null));
    const isRemote = trace.parentSpanId !== null;
    this.#sink.span({
      traceId: trace.traceId,
      spanId: trace.spanId,
      parentSpanId: trace.parentSpanId,
      name: `${operations.agent} ${name}`,
      kind: isRemote ? spanKinds.server : spanKinds.internal,
      startMs: line.timestamp,
      endMs: end.timestamp,
      attributes: attributes.list,
      isError: errorType !== null,
      isParentRemote: isRemote,
    });
  }

  #inference(line: LineOf<'inference'>, content: readonly Attribute[]): void {
    const { outcome, usage } = line;
    const model = this.#shown(line.model);
    const errorType = outcome === 'response' ? null : outcome;
    const provider = this.#provider;
    this.#sink.totals.inference({ model, provider, seconds: line.duration_ms / 1000, errorType, usage });
    const trace = this.#traceOf(line.task_id);
    if (!trace.isSampled) return;
    const task = line.hook_name === undefined && line.task_id !== null ? this.#tasks.get(line.task_id) : undefined;
    if (task !== undefined) {
      const of = (name: string): Attribute | null => content.find(({ key }) => key === name) ?? null;
      task.input ??= of(names.inputMessages);
      task.output = of(names.outputMessages) ?? task.output;
    }
    const attributes = new AttributeList()
      .add(names.operation, operations.chat)
      .add(names.provider, provider)
      .add(names.model, model)
      .add(names.finishReasons, line.stop_reason === null ? null : [this.#shown(line.stop_reason)])
      .add(names.inputTokens, usage?.input_tokens)
      .add(names.outputTokens, usage?.output_tokens)
      .add(names.cacheReadTokens, line.cache_read_tokens)
      .add(names.cacheWriteTokens, line.cache_write_tokens)
      .add(names.firstChunkSeconds, line.ttfb_ms === undefined ? null : line.ttfb_ms / 1000)
      .add(names.turn, line.turn)
      .add(names.hook, line.hook_name === undefined ? null : this.#shown(line.hook_name))
      .add(names.retries, line.retries?.length)
      .add(names.errorType, errorType)
      .addAll(content);
    this.#child(line, trace, { name: `${operations.chat} ${model}`, kind: spanKinds.client, attributes, errorType });
  }

  #call(line: Call, content: readonly Attribute[]): void {
    const given = toolNameOf(line);
    const isUnknown = line.event_type === 'tool_call' && line.tool_kind === 'unknown';
    // Unknown tool names go on the span only; as metric labels they would be unbounded.
    const name = this.#shown(given);
    const errorType = line.is_error ? (isUnknown ? 'unknown_tool' : 'tool_error') : null;
    this.#sink.totals.tool(isUnknown ? otherError : name, line.duration_ms / 1000, errorType);
    const trace = this.#traceOf(line.task_id);
    if (!trace.isSampled) return;
    const attributes = new AttributeList()
      .add(names.operation, operations.tool)
      .add(names.toolName, name)
      .add(names.toolType, toolTypeOf(line))
      .add(names.toolCallId, line.tool_call_id === null ? null : this.#shown(line.tool_call_id))
      .add(names.turn, line.turn)
      .add(names.exitCode, 'exit_code' in line ? line.exit_code : null)
      .add(names.errorType, errorType)
      .addAll(content);
    const spanName = `${operations.tool} ${isUnknown ? otherError : name}`;
    this.#child(line, trace, { name: spanName, kind: spanKinds.internal, attributes, errorType });
  }

  /** A skipped step called nothing. */
  #step(line: LineOf<'plan_step'>, content: readonly Attribute[]): void {
    if (line.kind === 'capsule') this.#endStepChildren(line);
    if (line.outcome === 'skipped') return;
    const name = this.#shown(line.name);
    const errorType = line.outcome === 'failed' ? 'tool_error' : null;
    this.#sink.totals.tool(name, line.duration_ms / 1000, errorType);
    const trace = this.#traceOf(line.task_id);
    if (!trace.isSampled) return;
    const attributes = new AttributeList()
      .add(names.operation, operations.tool)
      .add(names.toolName, name)
      .add(names.toolType, line.kind === 'capsule' ? toolTypes.extension : toolTypes.function)
      .add(names.step, this.#shown(line.step_id))
      .add(names.exitCode, line.exit_code)
      .add(names.errorType, errorType)
      .addAll(content);
    this.#child(line, trace, { name: `${operations.tool} ${name}`, kind: spanKinds.internal, attributes, errorType });
  }

  /** Children of steps have no line of their end: it is that of the step. */
  #endStepChildren({ task_id, step_id, outcome, timestamp }: LineOf<'plan_step'>): void {
    for (const open of this.#delegations.values()) {
      if (open.line.task_id !== task_id || open.line.step_id !== step_id) continue;
      this.#invocationOfChild(open, { atMs: timestamp, errorType: outcome === 'failed' ? 'error' : null });
    }
  }

  /** A step that was canceled has no line at all. */
  #endChildrenOfPlan({ task_id, timestamp }: LineOf<'plan_end'>): void {
    for (const open of this.#delegations.values()) {
      if (open.line.task_id !== task_id || open.line.step_id === undefined) continue;
      this.#invocationOfChild(open, { atMs: timestamp, errorType: 'terminated' });
    }
  }

  #delegation(line: LineOf<'delegation'>): void {
    if (line.status === 'refused') this.#log(line);
    const known = this.#delegations.get(line.delegation_id);
    const open = known ?? { line, trace: this.#traceOf(line.task_id) };
    if (line.status === 'started') {
      if (this.#delegations.size < maxOpen) this.#delegations.set(line.delegation_id, open);
      return;
    }
    this.#invocationOfChild(open, { atMs: line.timestamp, errorType: line.status === 'ok' ? null : line.status });
  }

  /** The span that the task of the child hangs on. It begins when the delegation was named, before anything of the child was started. */
  #invocationOfChild(
    { line, trace }: OpenDelegation,
    { atMs, errorType }: { readonly atMs: number; readonly errorType: string | null },
  ): void {
    this.#delegations.delete(line.delegation_id);
    if (!trace.isSampled) return;
    const name = this.#shown(line.capsule);
    const attributes = new AttributeList()
      .add(names.operation, operations.agent)
      .add(names.agentName, name)
      .add(names.agentVersion, this.#shown(line.version))
      .add(names.delegation, line.delegation_id)
      .add(names.errorType, errorType);
    this.#sink.span({
      traceId: trace.traceId,
      spanId: spanIdOf(line.delegation_id),
      parentSpanId: trace.spanId === '' ? null : trace.spanId,
      name: `${operations.agent} ${name}`,
      kind: spanKinds.client,
      startMs: Math.min(mintedMs(line.delegation_id), atMs),
      endMs: atMs,
      attributes: attributes.list,
      isError: errorType !== null,
      isParentRemote: false,
    });
  }

  #child(
    line: { readonly event_id: string; readonly timestamp: number; readonly duration_ms: number },
    trace: TaskTrace,
    { name, kind, attributes, errorType }: ChildSpan,
  ): void {
    this.#sink.span({
      traceId: trace.traceId,
      spanId: spanIdOf(line.event_id),
      parentSpanId: trace.spanId === '' ? null : trace.spanId,
      name,
      kind,
      startMs: line.timestamp - line.duration_ms,
      endMs: line.timestamp,
      attributes: attributes.list,
      isError: errorType !== null,
      isParentRemote: false,
    });
  }

  #log(line: TraceLine): void {
    const trace = this.#traceOf('task_id' in line ? (line.task_id ?? null) : null);
    const span = trace.spanId === '' || !trace.isSampled ? null : { traceId: trace.traceId, spanId: trace.spanId };
    const log = logOf(line, { sessionId: this.#sessionId, span, shown: (text) => this.#shown(text) });
    if (log !== null) this.#sink.log(log);
  }

  /** For a task that is not open any more, or is not known, its id alone decides. */
  #traceOf(taskId: string | null): TaskTrace {
    if (taskId === null) return this.#sessionTrace;
    return this.#tasks.get(taskId)?.trace ?? taskTrace(taskId, undefined, this.#sampler);
  }

  #shown(text: string): string {
    return toUSVString(this.#redact(shortened(text, maxName)));
  }
}

interface ChildSpan {
  readonly name: string;
  readonly kind: SpanRecord['kind'];
  readonly attributes: AttributeList;
  readonly errorType: string | null;
}

function toolNameOf(line: Call): string {
  switch (line.event_type) {
    case 'tool_call':
      return line.tool_name;
    case 'shell':
      return line.command_name;
    case 'skill_call':
      return line.skill_name;
  }
}

function toolTypeOf(line: Call): string {
  if (line.event_type === 'skill_call') return toolTypes.datastore;
  return line.event_type === 'tool_call' && line.tool_kind === 'mcp' ? toolTypes.extension : toolTypes.function;
}
