/** Every event of a trace with its fields, and the port that records them. */

import * as z from 'zod';

import type { TraceEventId } from '@svc/protocol/ids.ts';

/**
 * The lines of `trace.jsonl` (D1 "Trace"). The schemas are the published contract; the program itself only uses their types.
 */

const count = z.int().min(0);
/** When it began, in Unix milliseconds. Absent in traces of before. */
const startMs = z.int().optional();
const origin = z.enum(['user', 'message', 'peer', 'completion']);
const usage = z.object({ input_tokens: count, output_tokens: count });

/** A file as it was or is. `sha256` is absent for one of more than 1 MiB. */
const fileState = z.object({ sha256: z.string().optional(), bytes: count });

/** As whom a client is known. */
const principal = z.string().optional();

const refusedKind = z.enum(['command', 'file', 'host', 'tool']);

/** How often something that was granted was used, and how often it was refused. */
const sums = z.record(z.string(), z.object({ used: count, refused: count }));

const call = {
  task_id: z.string(),
  turn: count,
  tool_call_id: z.string().nullable(),
  arguments: z.unknown(),
  is_error: z.boolean(),
  start_ms: startMs,
  duration_ms: count,
};

const resource = {
  outcome: z.string(),
  status: count,
};

const peer = {
  handle_id: z.string(),
  outcome: z.string(),
};

/** One kind of telemetry: taken by the collector, thrown away without room, refused or not taken by the end. */
const delivered = z.object({ sent: count, dropped: count, failed: count });

/** Every event type with its own fields, beside those of `traceLine`. */
export const traceEventSchemas = {
  session_start: z.object({
    capsule: z.object({ name: z.string(), version: z.string() }),
    /** The session whose conversation this one goes on with. */
    continues: z.string().optional(),
    runtime_version: z.string(),
    /** The artifact that asks the model, or its command; absent in traces of older versions. */
    driver: z.string().optional(),
    containment: z.object({ declared: z.string(), achieved: z.string(), mechanism: z.string() }),
    tools_declared: z.array(z.string()),
    effective_grants: z.record(z.string(), z.unknown()),
  }),
  task_received: z.object({
    task_id: z.string(),
    context_id: z.string(),
    origin,
    trust: z.enum(['trusted', 'untrusted']),
    lane: z.enum(['foreground', 'background']),
    /** Who gave it: `token:<name>`, `operator` or `local`; absent of tasks that came with the start or from the session itself, and in traces of before. */
    principal,
    /** The span that it belongs to, as its sender said (W3C Trace Context). */
    traceparent: z.string().optional(),
    text: z.string(),
  }),
  task_start: z.object({ task_id: z.string(), attempt: count }),
  inference: z.object({
    /** Is null for a completion that a hook asked for outside of a task. */
    task_id: z.string().nullable(),
    /** 0 for a completion that a hook asked for. */
    turn: count,
    hook_name: z.string().optional(),
    model: z.string(),
    outcome: z.enum(['response', 'failed', 'unavailable', 'malformed']),
    stop_reason: z.string().nullable(),
    error: z.string().optional(),
    usage: usage.nullable(),
    /** Why the driver asked the model again, in order; absent when it did not. */
    retries: z.array(z.string()).optional(),
    /** How many of the input tokens the provider had in its cache, and how many it put there; absent if it does not say. */
    cache_read_tokens: count.optional(),
    cache_write_tokens: count.optional(),
    /** Where the driver's last request went: a name or an address, with the port where the address of the provider names one. */
    host: z.string().optional(),
    /** Until the first piece of the answer came; absent where none came before its end. */
    ttfb_ms: count.optional(),
    start_ms: startMs,
    duration_ms: count,
  }),
  tool_call: z.object({
    ...call,
    tool_name: z.string(),
    tool_kind: z.enum(['wasm', 'native', 'mcp', 'runtime', 'unknown']),
    exit_code: z.int().nullable(),
    truncated: z.boolean(),
    content_bytes: count,
  }),
  /** `turn` is 0 for a skill that the sender of the task named, and `by` says who that was; it is absent of a call of the model. */
  skill_call: z.object({ ...call, skill_name: z.string(), content_bytes: count, by: z.string().optional() }),
  shell: z.object({
    ...call,
    command_name: z.string(),
    exit_code: z.int().nullable(),
    truncated: z.boolean(),
    content_bytes: count,
  }),
  /** A command that outlasted its call: as it goes on without it, and at its end, which is its own or that of the session. */
  background_command: z.object({
    task_id: z.string(),
    work_id: z.string(),
    command_name: z.string(),
    state: z.enum(['moved', 'ended', 'stopped']),
    exit_code: z.int().nullable(),
    duration_ms: count.optional(),
  }),
  task_input_required: z.object({
    task_id: z.string(),
    prompt: z.string(),
    outcome: z.enum(['answered', 'timed-out', 'canceled']),
    /** Who answered it; absent where nobody did, and in traces of before. */
    principal,
    duration_ms: count,
  }),
  compaction: z.object({
    task_id: z.string(),
    outcome: z.enum(['replaced', 'unchanged', 'failed']),
    hook_name: z.string().optional(),
    error: z.string().optional(),
    estimated_tokens: count,
    max_tokens: count,
    messages_before: count,
    messages_after: count,
    duration_ms: count,
  }),
  task_reopened: z.object({ task_id: z.string(), attempt: count, feedback: z.string() }),
  /** `principal` is who canceled it, alone or with all others; absent where the session has ended. */
  task_canceled: z.object({ task_id: z.string(), queued: z.boolean(), principal }),
  /** Every task was to be canceled; `principal` asked for it. */
  session_stop: z.object({ principal }),
  task_end: z.object({
    task_id: z.string(),
    state: z.enum(['completed', 'failed', 'canceled']),
    message: z.string(),
    /** Why, where the message does not say it. */
    error: z.string().optional(),
    turns: count,
    usage,
    duration_ms: count,
  }),
  hook_error: z.object({ hook_name: z.string(), event: z.string(), error: z.string() }),
  /** How far a delegation got: `started`, `failed` or `refused`. Of one that was started, later how the child ended. */
  delegation: z.object({
    /** The task that delegated. */
    task_id: z.string(),
    delegation_id: z.string(),
    capsule: z.string(),
    version: z.string(),
    status: z.enum(['started', 'failed', 'refused', 'ok', 'error', 'crashed', 'terminated']),
    /** Once the child has reported it. */
    child_session_id: z.string().optional(),
    /** Where its trace is, below the directory of this one. */
    child_session_directory: z.string().optional(),
    /** The step of a plan that asked for it. */
    step_id: z.string().optional(),
    detail: z.string().optional(),
  }),
  resource_list: z.object({ ...resource, entries: count.optional() }),
  resource_read: z.object({ ...resource, path: z.string(), bytes: count.optional() }),
  /** Refused requests without a line of their own, of whichever kind: there were too many in a minute. */
  resource_refusals: z.object({ ...resource, count }),
  /** Something was asked for and denied: `name` says what, `rule` why, `by` who denied it. */
  refusal: z.object({
    task_id: z.string().optional(),
    what: refusedKind,
    name: z.string(),
    rule: z.string(),
    by: z.string(),
    /** Why somebody should hear of it at once: a cloud's address for keys, a key where none belongs, or ten refusals within a minute. */
    serious: z.enum(['metadata', 'credential', 'many']).optional(),
  }),
  /** Refusals without a line of their own: there were too many in a minute. */
  refusals: z.object({ what: refusedKind, by: z.string(), count }),
  /** What went to one host and came from it in the session, for one of those that asked for it; before the last line. */
  egress: z.object({
    /** A name or an address; `*` for all beyond the first 1,000. */
    host: z.string(),
    /** 0 for `*`. */
    port: count,
    allowed: z.boolean(),
    /** `programs`, or the name of an artifact. */
    by: z.string(),
    connections: count,
    bytes_in: count,
    bytes_out: count,
  }),
  /** A tool has changed a file. `before` and `after` are null for a missing file. */
  file_change: z.object({
    task_id: z.string(),
    tool_name: z.string(),
    /** Below the workdir, or below `project/`. */
    path: z.string(),
    change: z.enum(['created', 'changed', 'removed']),
    before: fileState.nullable(),
    after: fileState.nullable(),
  }),
  peer_handle_mint: z.object({ ...peer, path: z.string(), audience: z.string(), expires_at_ms: count }),
  peer_handle_redeem: z.object({ ...peer, status: count, bytes: count.optional() }),
  peer_file_fetch: z.object({ ...peer, peer: z.string(), bytes: count.optional() }),
  plan_start: z.object({ task_id: z.string(), plan_id: z.string(), steps: count }),
  plan_step: z.object({
    task_id: z.string(),
    plan_id: z.string(),
    step_id: z.string(),
    outcome: z.enum(['passed', 'failed', 'skipped']),
    kind: z.enum(['tool', 'shell', 'capsule']),
    /** Names the tool, the command or the capsule. */
    name: z.string(),
    /** With the outputs of earlier steps filled in; null when nothing was called. */
    arguments: z.unknown(),
    attempts: count,
    exit_code: z.int().nullable(),
    /** Why it did not pass, where the tool does not say it. */
    reason: z.string().optional(),
    /** When its first attempt began, or when it was skipped. */
    start_ms: startMs,
    duration_ms: count,
  }),
  plan_end: z.object({
    task_id: z.string(),
    plan_id: z.string(),
    outcome: z.enum(['passed', 'failed', 'canceled']),
    passed: count,
    failed: count,
    skipped: count,
    canceled: count,
    /** Below the session directory; null when it could not be written. */
    file: z.string().nullable(),
    error: z.string().optional(),
    duration_ms: count,
  }),
  spend_ceiling_reached: z.object({ task_id: z.string(), ceiling: count, spent: count, estimate: count }),
  /** The logs have reached their limit: what commands, servers and hooks write from here on is no longer kept whole. */
  logs_limit_reached: z.object({ max_bytes: count }),
  /** Notifications of a task that did not arrive where a client wanted them, or without a task where the manifest wants them; one line of each receiver, when it is over. */
  push_lost: z.object({
    task_id: z.string().optional(),
    host: z.string(),
    sent: count,
    lost: count,
    reason: z.string(),
  }),
  session_end: z.object({
    status: z.enum(['ok', 'failed', 'trapped']),
    reason: z.string().optional(),
    tasks: count,
    /** By kind and name. What was granted and has no entry was never used, or is a command that only others started. Absent in traces of before. */
    grant_evidence: z
      .object({
        commands: sums,
        tools: sums,
        /** As `host:port`; of more than 200 those that were used the most. */
        hosts: sums,
        capsules: sums,
        /** Used: how often it was asked; refused: how often it failed. */
        hooks: sums,
        /** Calls of tools and commands that were never offered. */
        unknown_calls: count,
      })
      .optional(),
    /** What became of the spans, measures and logs that were to be sent; absent where none were. */
    telemetry: z.object({ traces: delivered, metrics: delivered, logs: delivered }).partial().optional(),
    duration_ms: count,
  }),
} as const;

type TraceEventType = keyof typeof traceEventSchemas;

type RecordedEvent = {
  [Type in TraceEventType]: { readonly event_type: Type } & Readonly<z.infer<(typeof traceEventSchemas)[Type]>>;
}[TraceEventType];

/** An event to record. */
export type TraceEvent = RecordedEvent & {
  /** The digits of the numbers in `arguments` that JavaScript cannot hold as they were written. The line has the numbers as written, and no key `digits`. */
  readonly digits?: Readonly<Record<string, string>> | undefined;
};

/** What every line carries before the event's own fields (docs/trace.md "The trace of a session"). */
export const traceLine = z.object({
  event_type: z.enum(Object.keys(traceEventSchemas) as [TraceEventType, ...TraceEventType[]]),
  event_id: z.string().regex(/^evt_[0-9a-f]{32}$/),
  parent_id: z.string().nullable(),
  session_id: z.string(),
  timestamp: z.int(),
});

/** One line as it stands in the file. */
export type TraceLine = RecordedEvent & Readonly<Omit<z.infer<typeof traceLine>, 'event_type'>>;

/** A line of a trace that anybody may have written; null for what is no line of a type that is known here. Keys that are unknown stay. */
export function readTraceLine(value: unknown): TraceLine | null {
  const head = traceLine.safeParse(value);
  if (!head.success || !traceEventSchemas[head.data.event_type].safeParse(value).success) return null;
  return value as TraceLine;
}

/** A long text as its line will hold it: redacted and encoded before the line is written. */
export interface PreparedText {
  readonly text: string;
  /** The redacted text as JSON, in UTF-8. */
  readonly json: Uint8Array;
}

/** Where a session's events are recorded. */
export interface Trace {
  /**
   * Appends one line, whole or not at all; `parent` is the event this one belongs to.
   * With `prepared`, what it holds is written as the event's `text`.
   * Throws the Diagnostic `E-IO-002` when it cannot: the session ends then (D1 "Task states" 2).
   */
  write(event: TraceEvent, parent: TraceEventId | null, prepared?: PreparedText): TraceEventId;
  /** Does the slow part of recording a text of megabytes ahead of its line, in several turns of the event loop. */
  prepare(text: string): Promise<PreparedText>;
  close(): void;
}
