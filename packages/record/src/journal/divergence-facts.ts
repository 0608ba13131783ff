/** Finds the very place in the texts where two sessions differ. */

import { asJsonObject } from '@svc/protocol/json-object.ts';

import type { Divergence, RequestDivergence } from './compare-sessions.ts';
import { type Difference, firstDifference } from './json-difference.ts';
import type { JournalReader } from './journal-reader.ts';
import { type StartRecord, turnOf } from './records.ts';
import { parsed } from './recorded-json.ts';

/** Where two sessions differ, as `svc trace diff --json` has it. Steps, tasks and messages count from 1. */
export interface DivergenceFacts {
  readonly kind: Divergence['kind'];
  /** The step in each session; null where it is not about one, or the step is missing. */
  readonly steps: { readonly a: number | null; readonly b: number | null };
  readonly port: string | null;
  readonly name: string | null;
  readonly turn: number | null;
  readonly task: number | null;
  /** What differs of it: `model`, `system`, `tools`, `maxTokens`, `message`, `input`, `name`, `answer`, `text` or `end`. */
  readonly part: string | null;
  /** Number and role of the first message that differs. */
  readonly message: { readonly number: number; readonly role: string | null } | null;
  /** Is null if the texts are not kept, or one is missing altogether. */
  readonly difference: Difference | null;
  /** Is null except at a request. */
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

export function divergenceFacts(parting: Divergence, a: JournalReader, b: JournalReader): DivergenceFacts {
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
      const { step } = parting;
      const [reader, steps] = parting.in === 'b' ? [a, { a: step, b: null }] : [b, { a: null, b: step }];
      return { ...nothing, kind: 'missing', steps, ...about(startOf(reader, step)) };
    }
    case 'input': {
      const [start, other] = [startOf(a, parting.a), startOf(b, parting.b)];
      const steps = { a: parting.a, b: parting.b };
      const isNamed = start?.port === other?.port && start?.name === other?.name;
      const names = { path: '', byte: null, a: calledOf(start), b: calledOf(other) };
      const difference = isNamed ? inputDifference(start, other, readers) : names;
      return { ...nothing, kind: 'input', steps, ...about(start), part: isNamed ? 'input' : 'name', difference };
    }
    case 'answer': {
      const steps = { a: parting.a, b: parting.b };
      const difference = textDifference(parting.values, readers);
      return { ...nothing, kind: 'answer', steps, ...about(startOf(a, parting.a)), part: 'answer', difference };
    }
    case 'request':
      return requestFacts(parting, readers);
  }
}

/** The `start` of a step, read again with its chain. */
function startOf(reader: JournalReader, step: number): StartRecord | null {
  return reader.step(step)?.start ?? null;
}

function about(start: StartRecord | null): Pick<DivergenceFacts, 'port' | 'name' | 'turn'> {
  return { port: start?.port ?? null, name: start?.name ?? null, turn: start === null ? null : turnOf(start.e) };
}

function calledOf(start: StartRecord | null): string | null {
  return start === null ? null : `${start.port} ${start.name}`;
}

function inputOf(start: StartRecord | null): string | null {
  return start === null || start.port === 'model' ? null : start.in;
}

function requestFacts(
  { a, b, isFixedSame, same, lengths, messages }: RequestDivergence,
  readers: Readers,
): DivergenceFacts {
  const [start, other] = [startOf(readers[0], a), startOf(readers[1], b)];
  const counts = { a: lengths[0], b: lengths[1] };
  const request = { same_messages: same, messages: counts, is_fixed_same: isFixedSame };
  const known = { ...nothing, kind: 'request', steps: { a, b }, ...about(start), request } as const;
  if (!isFixedSame && start?.port === 'model' && other?.port === 'model') {
    const found = fixedDifference(start.fixed, other.fixed, readers);
    return { ...known, part: found?.part ?? null, difference: found?.difference ?? null };
  }
  const role = roleOf(messages[0], readers[0]) ?? roleOf(messages[1], readers[1]);
  const difference = textDifference(messages, readers);
  return { ...known, part: 'message', message: { number: same + 1, role }, difference };
}

function roleOf(hash: string | null, reader: JournalReader): string | null {
  const text = textOf(hash, reader);
  const message = text === null ? null : (parsed(text) as { role?: unknown } | null);
  return typeof message?.role === 'string' ? message.role : null;
}

/** The first part that differs of two fixed parts; null where a text of it is not kept. */
export function fixedDifference(
  a: string,
  b: string,
  readers: Readers,
): { readonly part: string; readonly difference: Difference | null } | null {
  const found = textDifference([a, b], readers);
  const [, part] = /^\/([^/]+)/.exec(found?.path ?? '') ?? [];
  if (found === null || part === undefined) return null;
  // These two are shown by their hashes.
  if (part !== 'system' && part !== 'tools') return { part, difference: found };
  return { part, difference: textDifference([found.a, found.b], readers) };
}

/** Whether a hook got the same input in both, except the ids of the session, its tasks and their contexts. */
export function isToldAlike(stepA: number, stepB: number, readers: Readers): boolean {
  const [a, b] = [startOf(readers[0], stepA), startOf(readers[1], stepB)];
  if (a?.port !== 'hook' || b?.port !== 'hook' || a.name !== b.name) return false;
  const told = toldIn([a.in, b.in], readers);
  return told !== null && firstDifference(...told) === null;
}

function inputDifference(a: StartRecord | null, b: StartRecord | null, readers: Readers): Difference | null {
  const hashes = [inputOf(a), inputOf(b)] as const;
  if (a?.port !== 'hook' || b?.port !== 'hook') return textDifference(hashes, readers);
  const told = toldIn(hashes, readers);
  return told === null ? null : firstDifference(...told);
}

/** The inputs of hooks, without ids; null where a text is not kept. */
function toldIn([a, b]: Hashes, readers: Readers): readonly [a: string, b: string] | null {
  const [textA, textB] = [textOf(a, readers[0]), textOf(b, readers[1])];
  return textA === null || textB === null ? null : [withoutIds(textA), withoutIds(textB)];
}

/** The input of a hook (`svc:hook/types`), without the ids that are other ones in each session. */
function withoutIds(text: string): string {
  const told = asJsonObject(parsed(text));
  return told === null ? text : JSON.stringify({ ...told, argument: bare(told['argument']) });
}

/** The session stands by itself, or within the argument, or within the task there. */
function bare(told: unknown): unknown {
  const object = asJsonObject(told);
  if (object === null) return told;
  const { sessionId: _session, taskId: _task, contextId: _context, session, task, ...others } = object;
  return { session: bare(session), task: bare(task), ...others };
}

/** Returns null where a text is not kept; where there is only one, the whole of it. */
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
