/** Finds, where two sessions part, the very place in the texts that does. */

import type { Parting, RequestParting } from '../../journal/compare-sessions.ts';
import { type Difference, firstDifference } from '../../journal/json-difference.ts';
import type { JournalReader } from '../../journal/journal-reader.ts';
import { parsed, turnOf } from './step-row.ts';

/** Where two sessions part, as `svc trace diff --json` has it. Steps, tasks and messages count from 1. */
export interface PartingFacts {
  readonly kind: Parting['kind'];
  /** The step in each session; null where it is not about one, or there is none. */
  readonly steps: { readonly a: number | null; readonly b: number | null };
  readonly port: string | null;
  readonly name: string | null;
  readonly turn: number | null;
  readonly task: number | null;
  /** What of it differs: `model`, `system`, `tools`, `maxTokens`, `message`, `input`, `name`, `answer`, `text` or `end`. */
  readonly part: string | null;
  /** Number and role of the first message that differs. */
  readonly message: { readonly number: number; readonly role: string | null } | null;
  /** Null where the texts are not kept, or one is missing altogether. */
  readonly difference: Difference | null;
  /** Null but for a request. */
  readonly request: {
    readonly same_messages: number;
    readonly messages: { readonly a: number; readonly b: number };
    readonly is_fixed_same: boolean;
  } | null;
}

type Readers = readonly [a: JournalReader, b: JournalReader];
type Hashes = readonly [a: string | null, b: string | null];

const nothing = {
  steps: { a: null, b: null },
  port: null,
  name: null,
  turn: null,
  task: null,
  part: null,
  message: null,
  difference: null,
  request: null,
} as const;

export function partingFacts(parting: Parting, a: JournalReader, b: JournalReader): PartingFacts {
  const readers = [a, b] as const;
  switch (parting.kind) {
    case 'task': {
      const difference = textDifference([parting.a, parting.b], readers);
      return { ...nothing, kind: 'task', task: parting.index + 1, part: 'text', difference };
    }
    case 'end': {
      const difference = { path: '', byte: null, a: parting.a, b: parting.b };
      return { ...nothing, kind: 'end', task: parting.index + 1, part: 'end', difference };
    }
    case 'missing': {
      const { step, start } = parting;
      const steps = parting.in === 'b' ? { a: step, b: null } : { a: null, b: step };
      return { ...nothing, kind: 'missing', steps, ...about(start) };
    }
    case 'input': {
      const [start, other] = [parting.a.start, parting.b.start];
      const steps = { a: parting.a.step, b: parting.b.step };
      const isNamed = start.port === other.port && start.name === other.name;
      const names = { path: '', byte: null, a: `${start.port} ${start.name}`, b: `${other.port} ${other.name}` };
      const hashes = [start.port === 'model' ? null : start.in, other.port === 'model' ? null : other.in] as const;
      const difference = isNamed ? textDifference(hashes, readers) : names;
      return { ...nothing, kind: 'input', steps, ...about(start), part: isNamed ? 'input' : 'name', difference };
    }
    case 'answer': {
      const steps = { a: parting.a.step, b: parting.b.step };
      const difference = textDifference(parting.values, readers);
      return { ...nothing, kind: 'answer', steps, ...about(parting.a.start), part: 'answer', difference };
    }
    case 'request':
      return requestFacts(parting, readers);
  }
}

function about({
  port,
  name,
  e,
}: {
  port: string;
  name: string;
  e: string;
}): Pick<PartingFacts, 'port' | 'name' | 'turn'> {
  return { port, name, turn: turnOf(e) };
}

function requestFacts({ a, b, isFixedSame, same, messages }: RequestParting, readers: Readers): PartingFacts {
  const request = { same_messages: same, messages: { a: a.length, b: b.length }, is_fixed_same: isFixedSame };
  const known = { ...nothing, kind: 'request', steps: { a: a.step, b: b.step }, ...about(a.start), request } as const;
  if (!isFixedSame) {
    const found = fixedDifference(a.start.fixed, b.start.fixed, readers);
    return { ...known, part: found?.part ?? null, difference: found?.difference ?? null };
  }
  const hashes = [messages[0][same] ?? null, messages[1][same] ?? null] as const;
  const role = roleOf(hashes[0], readers[0]) ?? roleOf(hashes[1], readers[1]);
  const difference = textDifference(hashes, readers);
  return { ...known, part: 'message', message: { number: same + 1, role }, difference };
}

function roleOf(hash: string | null, reader: JournalReader): string | null {
  const text = textOf(hash, reader);
  const message = text === null ? null : (parsed(text) as { role?: unknown } | null);
  return typeof message?.role === 'string' ? message.role : null;
}

/** What of the fixed part of two requests differs first; null where a text of it is not kept. */
export function fixedDifference(
  a: string,
  b: string,
  readers: Readers,
): { readonly part: string; readonly difference: Difference | null } | null {
  const found = textDifference([a, b], readers);
  const [, part] = /^\/([^/]+)/.exec(found?.path ?? '') ?? [];
  if (found === null || part === undefined) return null;
  // These two are told by their hashes.
  if (part !== 'system' && part !== 'tools') return { part, difference: found };
  return { part, difference: textDifference([found.a, found.b], readers) };
}

/** Null where a text is not kept; where there is only one, the whole of it. */
function textDifference([hashA, hashB]: Hashes, [a, b]: Readers): Difference | null {
  const [textA, textB] = [textOf(hashA, a), textOf(hashB, b)];
  if (textA !== null && textB !== null) return firstDifference(textA, textB);
  const isKept = (hashA === null || textA !== null) && (hashB === null || textB !== null);
  return isKept ? { path: '', byte: null, a: textA, b: textB } : null;
}

function textOf(hash: string | null, reader: JournalReader): string | null {
  if (hash === null) return null;
  const body = reader.body(hash);
  return body.kind === 'text' ? body.text : null;
}
