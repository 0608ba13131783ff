/** Reads the tasks of a session from its trace. */

import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { basename, dirname } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { runSync } from '@svc/kit/yield-to-loop.ts';
import { type LaterGrant, laterGrantsIn } from '../sessions/later-grants.ts';
import type { RunningRecord } from '../sessions/running-record.ts';
import { LineFile, openOwn } from '../journal/line-file.ts';
import { holdSession, traceFile } from '../sessions/recorded-sessions.ts';
import { thisUser } from '../sessions/recorded-process.ts';
import { eachEvent, eventOf, type TracedEvent } from '../sessions/trace-events.ts';

/** A task as `svc tasks --json` writes it. Times are Unix milliseconds. */
export interface ListedTask {
  readonly task: string;
  readonly context: string | null;
  readonly state: string;
  readonly received_at_ms: number | null;
  readonly ended_at_ms: number | null;
  readonly tokens: number | null;
  /** How its text begins. */
  readonly text: string | null;
  /** What it waits for an answer to. */
  readonly prompt: string | null;
  /** Why it failed, in the words of the trace. */
  readonly reason: string | null;
}

const maxText = 200;
const maxReason = 4096;
/** A chat that joins shows no more of them. */
const maxMessages = 256;
const told = new Set(['task_received', 'task_start', 'inference', 'task_end']);

/** What a trace has of tasks. */
export interface TracedTasks {
  /** In the order in which they came. */
  readonly tasks: readonly ListedTask[];
  /** Lines of more than 16 MiB; more of them might follow. */
  readonly unreadLines: number;
}

/** The tasks of a session; none where there is no trace. */
export function tasksIn(directory: HeldDirectory): TracedTasks {
  const tasks = new Map<string, ListedTask>();
  const unreadLines = eachEventIn(directory, told, (type, event) => takeEvent(type, event, tasks));
  return { tasks: [...tasks.values()], unreadLines };
}

/** Calls `take` with each event of the trace of one of these types; as `eachEvent`. */
function eachEventIn(
  directory: HeldDirectory,
  types: ReadonlySet<string>,
  take: (type: string, event: TracedEvent) => void,
): number {
  const fd = openOwn(directory, traceFile, thisUser());
  if (fd === null) return 0;
  const file = new LineFile(fd);
  try {
    return runSync(eachEvent(file, types, (type, read) => take(type, read())));
  } finally {
    file.close();
  }
}

/** The same for a session that runs. */
export function tasksOfRunning(record: RunningRecord, sessionsFolder: string): TracedTasks {
  return ofRunning(record, sessionsFolder, tasksIn);
}

/** What a task was given to do. */
export interface GivenMessage {
  readonly origin: string;
  /** How its text begins. */
  readonly text: string;
}

/** What the tasks of a session that runs were given to do, of the last ones, by their ids; empty where that cannot be read. */
export function messagesOfRunning(record: RunningRecord, sessionsFolder: string): ReadonlyMap<string, GivenMessage> {
  try {
    return ofRunning(record, sessionsFolder, messagesIn);
  } catch (error) {
    if (error instanceof Diagnostic) return new Map();
    throw error;
  }
}

function messagesIn(directory: HeldDirectory): ReadonlyMap<string, GivenMessage> {
  const messages = new BoundedMap<string, GivenMessage>(maxMessages);
  eachEventIn(directory, new Set(['task_received']), (_, { task_id: id, origin, text }) => {
    if (typeof id !== 'string' || typeof text !== 'string') return;
    messages.set(id, { origin: textOr(origin) ?? '', text: shortened(text, maxText) });
  });
  return messages;
}

/** What a session that runs was granted, as the start of its trace has it; null where that does not say it. */
export function grantsOfRunning(
  record: RunningRecord,
  sessionsFolder: string,
): Readonly<Record<string, unknown>> | null {
  return ofRunning(record, sessionsFolder, (directory) => {
    const fd = openOwn(directory, traceFile, thisUser());
    if (fd === null) return null;
    const file = new LineFile(fd);
    try {
      const { effective_grants: grants } = eventOf(file.lineAt(0)?.toString('utf8') ?? '');
      return typeof grants === 'object' && grants !== null ? { ...grants } : null;
    } finally {
      file.close();
    }
  });
}

/** What a person granted to a session that runs since it began. */
export function laterGrantsOfRunning(record: RunningRecord, sessionsFolder: string): readonly LaterGrant[] {
  return ofRunning(record, sessionsFolder, laterGrantsIn);
}

function ofRunning<Read>(
  record: RunningRecord,
  sessionsFolder: string,
  read: (directory: HeldDirectory) => Read,
): Read {
  const id = record.session_id;
  const known = record.session_directory ?? null;
  const folder = known === null || basename(known) !== id ? sessionsFolder : dirname(known);
  const directory = holdSession(folder, id);
  try {
    return read(directory);
  } finally {
    directory.close();
  }
}

function takeEvent(type: string, event: TracedEvent, tasks: Map<string, ListedTask>): void {
  const { task_id: id, timestamp: at } = event;
  if (typeof id !== 'string') return;
  const atMs = typeof at === 'number' ? at : null;
  const known = tasks.get(id);
  if (type === 'task_received') {
    const text = textOr(event['text'])?.slice(0, maxText) ?? null;
    const context = textOr(event['context_id']);
    tasks.set(id, {
      task: id,
      context,
      state: 'submitted',
      received_at_ms: atMs,
      ended_at_ms: null,
      tokens: 0,
      text,
      prompt: null,
      reason: null,
    });
  } else if (known !== undefined && type === 'task_start') {
    tasks.set(id, { ...known, state: 'working' });
  } else if (known !== undefined && type === 'task_end') {
    const reason = textOr(event['error'])?.slice(0, maxReason) ?? null;
    tasks.set(id, { ...known, state: textOr(event['state']) ?? 'failed', ended_at_ms: atMs, reason });
  } else if (known !== undefined) {
    const usage = event['usage'] as { input_tokens?: unknown; output_tokens?: unknown } | null | undefined;
    const tokens = (Number(usage?.input_tokens) || 0) + (Number(usage?.output_tokens) || 0);
    tasks.set(id, { ...known, tokens: (known.tokens ?? 0) + tokens });
  }
}

function textOr(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
