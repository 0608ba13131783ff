/** Defines the log of what imports answered a component, from which a replay gives the same answers. */

/** JSON. What that has no word for is an object of one key: `$n` integer of 64 bits, `$t` bytes that are text, `$b` others in base64, `$r` a handle, `$w` a list of 32-bit numbers, `$f` a number such as `NaN`, `$u` nothing. */
export type LoggedValue =
  | null
  | boolean
  | number
  | string
  | readonly LoggedValue[]
  | { readonly [key: string]: LoggedValue };

/** How a call of an import came out: with a value, with the error of its result, or by breaking the component off with a message. */
export type LoggedOutcome = { readonly ok: LoggedValue } | { readonly err: LoggedValue } | { readonly trap: string };

/** The name of an import as `wasi:clocks/wall-clock#now` or `wasi:io/streams#InputStream.read`, what it was given, what came of it. */
export type ImportLogEntry = readonly [string, readonly LoggedValue[], LoggedOutcome];

/** What one call of a component is answered is kept up to this many characters: a reader holds the whole log in memory. */
export const maxImportLog: number = 2 * 1024 * 1024;

/** Reads a log; null for a text that is not a log, or is longer than one is kept. */
export function parseImportLog(text: string): readonly ImportLogEntry[] | null {
  if (text.length > maxImportLog) return null;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  return Array.isArray(json) && json.every(isEntry) && isReadable(json) ? (json as readonly ImportLogEntry[]) : null;
}

function isEntry(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const [name, args, outcome] = value as readonly unknown[];
  return typeof name === 'string' && Array.isArray(args) && isOutcome(outcome);
}

function isOutcome(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const [[kind, held] = [], ...more] = Object.entries(value);
  if (more.length > 0) return false;
  return kind === 'ok' || kind === 'err' || (kind === 'trap' && typeof held === 'string');
}

/** Depth of nested values: readers go into them by recursion. */
const deepest = 100;

/** False for marks that a reader would stumble over (a number that is not a number, a handle without its class), and for what is nested too deeply. */
function isReadable(entries: readonly unknown[]): boolean {
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value: entries, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth > deepest) return false;
    if (!Array.isArray(value) && !isReadableMark(value as Readonly<Record<string, unknown>>)) return false;
    for (const each of Object.values(value)) pending.push({ value: each, depth: depth + 1 });
  }
  return true;
}

function isReadableMark(object: Readonly<Record<string, unknown>>): boolean {
  const [only] = Object.keys(object);
  const held = object[only ?? ''];
  switch (only) {
    case '$n':
      return typeof held === 'string' && /^-?\d{1,20}$/.test(held);
    case '$r':
      return Array.isArray(held) && Number.isSafeInteger(held[0]) && typeof held[1] === 'string';
    case '$w':
      return Array.isArray(held) && held.every((each) => Number.isSafeInteger(each));
    case '$t':
    case '$b':
      return typeof held === 'string';
    default:
      return true;
  }
}

/** What one call of a component was answered. */
export interface ImportLog {
  /** The number of the component's instance, from 1: its memory lasts to its next call, and not to the next instance. */
  readonly instance: number;
  /** A list of `ImportLogEntry` as JSON, those of the start of an instance in its first call; null when it was too long to be kept, or the call was cut off. */
  readonly log: string | null;
}

/** What becomes of what imports answer during one call. */
export type CallImports =
  /** Called once, before the call settles, where the component was opened to record. */
  | { readonly kind: 'recorded'; readonly keep: (log: ImportLog) => void }
  /** Asked for the log of the next call; null without one. */
  | { readonly kind: 'played'; readonly next: () => ImportLog | null };

/** Where the imports of a component get their answers. */
export type ImportMode =
  | { readonly kind: 'live' }
  /** Live, and written down: at most so many bytes for a call. */
  | { readonly kind: 'recorded'; readonly maxBytes: number }
  /** From logs: nothing of the host is reached. */
  | { readonly kind: 'played' };

/** Stands in logs for the placeholder of a credential, which is another one in each session. */
export const loggedPlaceholder = 'svc-key';

/** Headers whose values no log holds. */
export const hiddenHeads: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'proxy-authorization',
]);

/** A log as it is kept: a placeholder is that of all sessions. */
export function withoutPlaceholder(log: string, placeholder: string | undefined): string {
  return placeholder === undefined ? log : log.replaceAll(placeholder, loggedPlaceholder);
}
