/** What a list of sessions says of each of them. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { runSync, type Steps } from '@svc/kit/yield-to-loop.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { isJournalHeld } from './journal-holder.ts';
import { JournalReader } from '../journal/journal-reader.ts';
import { LineFile, openOwn } from '../journal/line-file.ts';
import type { SessionFacts } from './listed-session.ts';
import { isUnstarted, removedAt, startOf, traceFile } from './recorded-sessions.ts';
import { thisUser } from './recorded-process.ts';
import { eachEvent, type TracedEvent } from './trace-events.ts';

export type { SessionFacts } from './listed-session.ts';

const maxTask = 200;
/** For a name, a version or a status, which anybody may have written. */
const maxName = 200;
/** As the kernel has it. */
const maxPath = 4096;
const startShape = /"timestamp"\s*:\s*(\d{1,16})/;

interface Counted {
  capsule: string | null;
  version: string | null;
  folder: string | null;
  status: string | null;
  tasks: number;
  tokens: number;
  model: string | null;
  durationMs: number | null;
  task: string | null;
  unread: number;
}

function nothingCounted(): Counted {
  const unknown = {
    capsule: null,
    version: null,
    folder: null,
    status: null,
    model: null,
    durationMs: null,
    task: null,
  };
  return { ...unknown, tasks: 0, tokens: 0, unread: 0 };
}

/** Reads its trace; of its journal only the beginning and the end, unless it has no trace. */
export function factsOf(id: string, directory: HeldDirectory, isRunning: boolean): SessionFacts {
  return runSync(readFacts(id, directory, isRunning));
}

/** The same in steps: anybody may have made the trace long. */
export function* readFacts(id: string, directory: HeldDirectory, isRunning: boolean): Steps<SessionFacts> {
  const at = startOf(directory);
  const reader = JournalReader.open(directory, thisUser());
  try {
    const counted = (yield* countTrace(directory)) ?? countJournal(reader);
    const opening = reader?.opening() ?? null;
    const { capture, trusted } = opening?.open ?? {};
    return {
      session_id: id,
      capsule: counted.capsule,
      version: counted.version,
      folder: counted.folder,
      started_at_ms: at === 0 ? null : at,
      status: isRunning ? 'running' : (counted.status ?? statusWithoutEnd(directory, at)),
      duration_ms: counted.durationMs,
      model: counted.model,
      tasks: counted.tasks,
      tokens: counted.tokens,
      unread_lines: counted.unread,
      task: counted.task,
      steps: reader === null || opening === null ? null : stepsOf(reader),
      journal:
        reader === null || capture === undefined || trusted === undefined
          ? null
          : { capture, bytes: reader.size, trusted },
      journal_removed_at_ms: reader === null ? removedAt(directory) : null,
    };
  } finally {
    reader?.close();
  }
}

/** For a session that is not listed, whose trace has no end. `startedAt` is 0 where nothing was recorded. */
function statusWithoutEnd(directory: HeldDirectory, startedAt: number): string {
  if (isJournalHeld(directory, systemClock.now())) return 'running';
  return startedAt === 0 && isUnstarted(directory) ? 'not-started' : 'crashed';
}

/** Returns null for a journal whose end is damaged: the list goes on, and `svc trace steps` says where. */
function stepsOf(reader: JournalReader): number | null {
  try {
    return reader.lastStep();
  } catch (error) {
    if (error instanceof Diagnostic && error.code === 'E-RUN-073') return null;
    throw error;
  }
}

/** Returns null without a trace. */
function* countTrace(directory: HeldDirectory): Steps<Counted | null> {
  const fd = openOwn(directory, traceFile, thisUser());
  if (fd === null) return null;
  const file = new LineFile(fd);
  try {
    return yield* countLines(file);
  } finally {
    file.close();
  }
}

const told = new Set(['session_start', 'task_received', 'inference', 'session_end']);

function* countLines(file: LineFile): Steps<Counted> {
  const counted = nothingCounted();
  counted.unread = yield* eachEvent(file, told, (type, read) => {
    if (type === 'task_received') counted.tasks += 1;
    if (type !== 'task_received' || counted.tasks === 1) countEvent(read(), type, counted);
  });
  return counted;
}

/** The same of a trace alone, whose session runs nowhere. */
export function* readFactsOfTrace(id: string, file: LineFile): Steps<SessionFacts> {
  const [, at] = startShape.exec(file.readAt(0, 4096).toString('latin1')) ?? [];
  const counted = yield* countLines(file);
  return {
    session_id: id,
    capsule: counted.capsule,
    version: counted.version,
    folder: counted.folder,
    started_at_ms: at === undefined ? null : Number(at),
    status: counted.status ?? 'crashed',
    duration_ms: counted.durationMs,
    model: counted.model,
    tasks: counted.tasks,
    tokens: counted.tokens,
    unread_lines: counted.unread,
    task: counted.task,
    steps: null,
    journal: null,
    journal_removed_at_ms: null,
  };
}

function countEvent(event: TracedEvent, type: string, counted: Counted): void {
  if (type === 'session_start') {
    const { name, version } = (event['capsule'] ?? {}) as { name?: unknown; version?: unknown };
    counted.capsule = typeof name === 'string' ? name.slice(0, maxName) : null;
    counted.version = typeof version === 'string' ? version.slice(0, maxName) : null;
    const { project_folder: project } = (event['effective_grants'] ?? {}) as {
      project_folder?: { path?: unknown; is_workdir?: unknown };
    };
    counted.folder =
      typeof project?.path === 'string' && project.is_workdir !== true ? project.path.slice(0, maxPath) : null;
  }
  if (type === 'task_received' && typeof event['text'] === 'string') counted.task = event['text'].slice(0, maxTask);
  if (type === 'session_end') {
    const { status, duration_ms: durationMs } = event;
    counted.status = typeof status === 'string' ? status.slice(0, maxName) : null;
    counted.durationMs = typeof durationMs === 'number' && durationMs >= 0 ? durationMs : null;
  }
  if (type !== 'inference') return;
  const usage = event['usage'] as { input_tokens?: unknown; output_tokens?: unknown } | null | undefined;
  counted.tokens += countOf(usage?.input_tokens) + countOf(usage?.output_tokens);
  if (typeof event['model'] === 'string') counted.model = event['model'].slice(0, maxName);
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0;
}

function countJournal(reader: JournalReader | null): Counted {
  const counted = nothingCounted();
  let openedMs = 0;
  for (const { record } of reader?.scan(['open', 'task', 'start', 'end', 'close']).records() ?? []) {
    if (record.k === 'open') {
      openedMs = record.at;
      Object.assign(counted, { capsule: record.capsule.name, version: record.capsule.version });
    }
    if (record.k === 'start' && record.port === 'model') counted.model = record.name.slice(0, maxName);
    if (record.k === 'task') counted.tasks += 1;
    if (record.k === 'end') counted.tokens += (record.usage?.in ?? 0) + (record.usage?.out ?? 0);
    if (record.k === 'close')
      Object.assign(counted, { status: record.status, durationMs: Math.max(0, record.at - openedMs) });
  }
  return counted;
}
