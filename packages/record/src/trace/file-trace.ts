/** Writes the trace of a session to a file. */

import { closeSync, constants, openSync } from 'node:fs';

import { type Digits, withDigits } from '@svc/kit/exact-json.ts';
import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { appendWhole } from '@svc/kit/files/transfer-sync.ts';
import { mintTraceEventId, type IdSource, type SessionId, type TraceEventId } from '@svc/protocol/ids.ts';
import type { TraceEvent, PreparedText, Trace, TraceLine } from './events.ts';

interface FileTraceOptions {
  readonly path: string;
  readonly sessionId: SessionId;
  readonly ids: IdSource;
  /** Takes secrets out of a text. */
  readonly redact: (line: string) => string;
  /** Hears of each line once it is written, before secrets were taken out of it. */
  readonly onWritten?: ((line: TraceLine) => void) | undefined;
}

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;

/**
 * Opens a session's `trace.jsonl`, owner-only. Each event is one append of one line: whole or absent, unless the
 * process is killed within it. What a full disk cut off is taken back before the failure is reported.
 */
export function openFileTrace(options: FileTraceOptions): Trace {
  const fd = openTraceFile(options.path);
  let open = true;

  function write(event: TraceEvent, parent: TraceEventId | null, prepared?: PreparedText): TraceEventId {
    if (!open) throw new Diagnostic('E-IO-002', `the trace ${options.path} is closed: the session has ended`);
    const { event_type: eventType, digits, ...fields } = event;
    const eventId = mintTraceEventId(options.ids);
    const line = {
      event_type: eventType,
      event_id: eventId,
      parent_id: parent,
      session_id: options.sessionId,
      timestamp: options.ids.now(),
      ...fields,
    };
    append(fd, lineOf({ line, digits: inArguments(digits) }, options.redact, prepared), options.path);
    options.onWritten?.(line as TraceLine);
    return eventId;
  }

  async function prepare(text: string): Promise<PreparedText> {
    await yieldToLoop();
    const redacted = options.redact(text);
    await yieldToLoop();
    const json = JSON.stringify(redacted);
    await yieldToLoop();
    const bytes = Buffer.from(json);
    await yieldToLoop();
    return { text, json: bytes };
  }

  function close(): void {
    if (!open) return;
    open = false;
    closeSync(fd);
  }

  return { write, prepare, close };
}

/** A text of this length is not searched twice. */
const longText = 64 * 1024;

/** What the event brought is searched for secrets, the line's own ids and types are not: they would be mangled by a short one. */
function withoutSecrets({ line, digits }: ExactLine, redact: (text: string) => string): string {
  if (!Object.values(line).some((value) => typeof value === 'string' && value.length > longText)) {
    const encoded = withDigits(line, digits);
    if (redact(encoded) === encoded) return encoded;
  }
  const redacted = Object.fromEntries(
    Object.entries(line).map(([key, value]) => [key, isOwn(key, value) ? value : redactedJson(value, redact)]),
  );
  return withDigits(redacted, digits === undefined ? undefined : redactedDigits(digits, redact));
}

/** Without those that are secrets, or stand behind a key that is one. */
export function redactedDigits(digits: Digits, redact: (text: string) => string): Digits {
  return Object.fromEntries(Object.entries(digits).filter((each) => each.every((text) => redact(text) === text)));
}

const own: ReadonlySet<string> = new Set([
  'event_type',
  'event_id',
  'parent_id',
  'session_id',
  'timestamp',
  'task_id',
  'context_id',
]);

/** A context may have the name that a sender gave it; numbers of the line itself are counts. */
function isOwn(key: string, value: unknown): boolean {
  if (typeof value === 'number') return true;
  return own.has(key) && (key !== 'context_id' || /^ctx_[0-9a-f]{32}$/.test(String(value)));
}

/** The same value with every text in it redacted, names of keys included. */
export function redactedTexts(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((each) => redactedTexts(each, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [redact(key), redactedTexts(each, redact)]));
}

/** Shorter numbers are counts and limits rather than secrets. */
const shortestNumber = 8;

/** The same of JSON that came from outside: a number of eight digits and more that is a secret becomes a text. */
export function redactedJson(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') {
    const spelled = String(value);
    const redacted = spelled.length < shortestNumber ? spelled : redact(spelled);
    return redacted === spelled ? value : redacted;
  }
  if (Array.isArray(value)) return value.map((each) => redactedJson(each, redact));
  if (typeof value !== 'object' || value === null) return redactedTexts(value, redact);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [redact(key), redactedJson(each, redact)]));
}

function openTraceFile(path: string): number {
  try {
    return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_EXCL, 0o600);
  } catch (error) {
    throw writeFailure(path, error);
  }
}

/** A line, and the digits of numbers in it. */
interface ExactLine {
  readonly line: Readonly<Record<string, unknown>>;
  readonly digits: Digits | undefined;
}

function inArguments(digits: Digits | undefined): Digits | undefined {
  if (digits === undefined) return undefined;
  return Object.fromEntries(Object.entries(digits).map(([pointer, text]) => [`/arguments${pointer}`, text]));
}

function lineOf(exact: ExactLine, redact: (text: string) => string, prepared: PreparedText | undefined): Uint8Array[] {
  if (prepared === undefined) return [withLineFeed(withoutSecrets(exact, redact))];
  const { text: _, ...rest } = exact.line;
  const before = withoutSecrets({ ...exact, line: rest }, redact).slice(0, -1);
  return [Buffer.from(`${before},"text":`), prepared.json, Buffer.from('}\n')];
}

/** The bytes of a text and a line feed. Joined as texts first, ten megabytes would take five times as long. */
function withLineFeed(text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const line = Buffer.allocUnsafe(bytes + 1);
  line.write(text);
  line.write('\n', bytes);
  return line;
}

function append(fd: number, pieces: readonly Uint8Array[], path: string): void {
  try {
    appendWhole(fd, pieces);
  } catch (error) {
    throw writeFailure(path, error);
  }
}

function writeFailure(path: string, error: unknown): Diagnostic {
  if (!isSystemError(error)) throw error;
  return new Diagnostic('E-IO-002', `the trace ${path} cannot be written: ${systemReason(error)}`, {
    hint: 'free space on the disk or make the directory writable, then run the capsule again',
    cause: error,
  });
}
