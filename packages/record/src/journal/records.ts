/** Defines every record of a journal with its keys, and makes a record of a line that was read. */

import * as z from 'zod';

import { sha256Shape } from '@svc/kit/sha256.ts';

/**
 * The lines of `journal.jsonl` (docs/journal.md "Records"). The schemas are the published contract: who writes a journal uses only their
 * types, who reads one checks each line with them.
 */

/** The one version of the format that there is. */
export const journalVersion = 1;

const count = z.int().min(0);
/** Unix milliseconds. */
const at = z.int();
const sha256 = z.string().regex(sha256Shape);
/** The place of an effect: task, attempt, turn and call. So effects that run at the same time have different names. */
const place = z.string().min(1);
const task = z.string().min(1);
const offset = count;

/** The sender of a message: its name at the listener, and the span in which it works (W3C Trace Context). */
const sender = { principal: z.string().optional(), traceparent: z.string().optional() };

/** It came before the session could act on the record before it. */
const together = z.literal(true).optional();

/** The places of looks that had begun before this record and end after it, if at all. A look is named only by the first record that comes meanwhile. */
const past = z.array(place).optional();

/** A Diagnostic of `svc`. */
const fault = z.object({ code: z.string(), message: z.string() });

const usage = z.object({ in: count, out: count, cache: count.optional() });

const modelStart = z.object({
  at,
  e: place,
  port: z.literal('model'),
  /** Names the model. */
  name: z.string(),
  /** The body of `{model, system, tools, maxTokens}`; `system` and `tools` are hashes of bodies themselves. */
  fixed: sha256,
  /** The request that this one extends; null for one that begins anew, as after a compaction. */
  base: place.nullable(),
  /** Messages as JSON, in their order: what is said beyond `base`. */
  add: z.array(sha256),
  /** The id from which the driver was to go on. */
  cont: sha256.optional(),
});

const effectStart = z.object({
  at,
  e: place,
  port: z.enum(['tool', 'shell', 'mcp', 'hook', 'child']),
  /** Names the tool, the command, the hook or the capsule. */
  name: z.string(),
  /** The input as JSON. */
  in: sha256,
});

/** Every kind of record with its own keys, beside `n`, `k` and `c` of all of them. */
export const recordSchemas = {
  /** The first record of a process. */
  open: z.object({
    at,
    version: z.literal(journalVersion),
    session: z.string(),
    epoch: z.int().min(1),
    svc: z.string(),
    node: z.string(),
    capture: z.enum(['content', 'meta']),
    /** False if commands ran as the user, and could have written here. */
    trusted: z.boolean(),
    /** The hash is that of the archive, of a published capsule. */
    capsule: z.object({ name: z.string(), version: z.string(), sha256: sha256.optional() }),
    /** The session whose conversation this one goes on with. */
    continues: z.string().optional(),
  }),
  /** A text, before the first record that names it; it may stand there again later. Without `data`, `file` and `cut` only its hash was kept. */
  body: z.object({
    sha256,
    /** The bytes of the whole text in UTF-8. */
    bytes: count,
    data: z.string().optional(),
    /** It is in `bodies/`, under its hash. */
    file: z.literal(true).optional(),
    /** Both ends of one that was too long to be kept. */
    cut: z.object({ head: z.string(), tail: z.string() }).optional(),
  }),
  /** What the session began with, each key the hash of a body. */
  setup: z.object({
    manifest: sha256,
    lock: sha256.nullable(),
    system: sha256,
    tools: sha256,
    grants: sha256,
    hooks: sha256,
    settings: sha256,
  }),
  task: z.object({
    at,
    id: task,
    ctx: z.string(),
    origin: z.enum(['user', 'message', 'peer', 'completion']),
    trust: z.enum(['trusted', 'untrusted']),
    lane: z.enum(['foreground', 'background']),
    text: sha256,
    /** The key with which its sender may send it again. */
    key: z.string().nullable(),
    ...sender,
    /** The place of its conversation, for a task that continues one whose sender showed a door token. */
    conversation: z.string().optional(),
    /** There where no model was asked: for a command that a person typed, whether its conversation got what it gave; for a call of a child that a person is asked about. */
    command: z.enum(['shown', 'told', 'passed']).optional(),
    /** The skills whose texts it begins with; absent where it names none. */
    skills: z.array(z.string()).optional(),
    by: z.enum(['start', 'message', 'work-end', 'child-end']),
    together,
    past,
  }),
  'task-end': z.object({
    at,
    id: task,
    state: z.enum(['completed', 'failed', 'canceled']),
    attempts: count,
    turns: count,
    result: sha256.nullable(),
    message: z.string(),
  }),
  /** An effect begins; it is a step, and its number is its place among these in the file, from 1. */
  start: z.discriminatedUnion('port', [modelStart, effectStart]),
  /** During an effect, the other side of it asks the session for something, or has it record an event. `chunks` are those before it, as in `end`. */
  ask: z.object({
    e: place,
    what: z.enum(['input', 'host', 'call', 'complete', 'change', 'program', 'request', 'record']),
    value: sha256,
    chunks: sha256.optional(),
    past,
  }),
  /** What imports answered to the component of an effect during one call. */
  io: z.object({
    e: place,
    /** The number of the component's instance, from 1. An instance keeps its memory from call to call. */
    instance: z.int().min(1),
    /** A JSON list of `[import, arguments, outcome]`; null when it was too much to keep, or the call was cut off. */
    value: sha256.nullable(),
  }),
  end: z.object({
    at,
    e: place,
    ms: count,
    /** The outcome as JSON; null without one. */
    value: sha256.nullable(),
    lost: z.literal('canceled').optional(),
    /** A JSON list of `[kind, text]`: what was shown while the answer came. */
    chunks: sha256.optional(),
    stop: z.string().optional(),
    usage: usage.optional(),
    exit: z.int().optional(),
    error: z.literal(true).optional(),
    /** Names of what the answer called. */
    calls: z.array(z.string()).optional(),
    past,
  }),
  /** Something that came without a request of the session, in the order in which the session met it. */
  in: z.object({
    at,
    /** `decision` settles an approval, with `{decision, option, note}` as `text`; `stop` cancels every task, `shut-down` ends the session too; `trap` ends it for a `fault`; `note` records an event and does no more. */
    what: z.enum(['answer', 'decision', 'cancel', 'stop', 'shut-down', 'trap', 'timer', 'note']),
    task: task.optional(),
    /** Names the timer. */
    name: z.string().optional(),
    /** The question that is answered. */
    question: z.string().optional(),
    key: z.string().nullable().optional(),
    ...sender,
    /** The answer, or the event as JSON. */
    text: sha256.optional(),
    fault: fault.optional(),
    together,
    past,
  }),
  /** A look at the session's own surroundings: the result was not the usual one, or other records came first. `found` marks a look that took no time. */
  look: z.object({
    e: place,
    value: sha256.nullable(),
    fault: fault.optional(),
    found: z.literal(true).optional(),
    past,
  }),
  /** Where steps and bodies since the index before it stand, so that a reader finds them from the end of the file. */
  index: z.object({
    /** The byte of the index before it; first of all, so that a reader that passes it reads no more. */
    before: offset.nullable(),
    /** Number of the step, byte of its `start`, byte of its `end` or null. */
    steps: z.array(z.tuple([z.int().min(1), offset, offset.nullable()])),
    /** The first 16 digits of the hash, and the byte of its `body`. */
    bodies: z.array(z.tuple([z.string().regex(/^[0-9a-f]{16}$/), offset])),
    /** Steps whose `start` is in an older index: number, and the byte of its `end`. */
    ended: z.array(z.tuple([z.int().min(1), offset])),
  }),
  /** The last record of a session that ended in order. */
  close: z.object({ at, status: z.enum(['ok', 'failed', 'trapped']), reason: z.string().nullable() }),
} as const;

export type RecordKind = keyof typeof recordSchemas;

/** The keys that every record has beside its own: its number from 0, its kind, and the chain up to it. */
export interface RecordFrame {
  readonly n: number;
  readonly c: string;
}

/** A record without its number and its chain, which the writer adds. */
export type RecordOf<Kind extends RecordKind> = {
  [K in Kind]: { readonly k: K } & Readonly<z.infer<(typeof recordSchemas)[K]>>;
}[Kind];

export type JournalRecord<Kind extends RecordKind = RecordKind> = {
  [K in Kind]: RecordFrame & RecordOf<K>;
}[Kind];

export type StartRecord = JournalRecord<'start'>;
export type EndRecord = JournalRecord<'end'>;

export function isRecordKind(kind: string): kind is RecordKind {
  return Object.hasOwn(recordSchemas, kind);
}

/** The record that a line holds; for an invalid line a clause that says what is wrong with it. */
export function decodeRecord<Kind extends RecordKind>(line: string, kind: Kind): JournalRecord<Kind> | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'is not JSON';
  }
  const { success, data, error } = recordSchemas[kind].safeParse(value);
  if (!success) return `lacks what a record ${kind} has, or has it wrong: ${error.issues[0]?.path.join('/') ?? ''}`;
  const { n, c } = value as RecordFrame;
  return { n, k: kind, ...data, c } as unknown as JournalRecord<Kind>;
}

/** Returns the task and the turn whose question to the model this place is, or null for another place. */
export function questionAt(place: string): { readonly taskId: string; readonly turn: number } | null {
  const [, taskId, turn] = /^(.+)\/\d{1,9}\/m(\d{1,9})$/.exec(place) ?? [];
  return taskId === undefined ? null : { taskId, turn: Number(turn) };
}

/** Returns the number of the turn that a place belongs to, or null outside turns. */
export function turnOf(place: string): number | null {
  const [, turn] = /\/m(\d+)(?:\/|$)/.exec(place) ?? [];
  return turn === undefined ? null : Number(turn);
}
