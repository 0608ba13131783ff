/** The object that `svc -p --output json` ends with, and the lines that `stream-json` writes before it. */

import * as z from 'zod';

/** What `--output` may be. */
export type OutputFormat = 'text' | 'json' | 'stream-json';

const count = z.int().min(0);
const usage = { input_tokens: count, output_tokens: count, cache_read_tokens: count.nullable() };

const reason = z.strictObject({
  code: z.string().regex(/^E-[A-Z]+-\d{3}$/),
  message: z.string(),
  hint: z.string().nullable(),
  retryable: z.boolean().nullable(),
});

const refused = z.strictObject({
  kind: z.enum(['call', 'command', 'network', 'write', 'file']),
  what: z.string(),
  flag: z.string().nullable(),
});

const result = z.strictObject({
  type: z.literal('result'),
  session: z.string().nullable(),
  task: z.string().nullable(),
  status: z.enum(['ok', 'failed', 'trapped']),
  state: z.enum(['completed', 'failed', 'canceled']).nullable(),
  answer: z.string().nullable(),
  reason: reason.nullable(),
  turns: count,
  usage: z.strictObject(usage),
  cost: z.null(),
  duration_ms: count,
  files: z.null(),
  refused: z.array(refused),
  result_file: z.string().nullable(),
});

const session = z.strictObject({
  type: z.literal('session'),
  session: z.string(),
  url: z.string(),
  pid: count,
  name: z.string(),
  version: z.string(),
  workdir: z.string(),
  driver: z.string(),
  model: z.string(),
});

const frame = z.strictObject({
  type: z.literal('frame'),
  id: z.string(),
  event: z.enum(['status', 'artifact', 'text', 'thinking']),
  data: z.record(z.string(), z.unknown()),
});

const retry = z.strictObject({ type: z.literal('retry'), reason: z.string() });

const turnUsage = z.strictObject({ type: z.literal('usage'), turn: count, ...usage });

/** The last object of a run. */
export type RunResult = z.infer<typeof result>;

export type SessionLine = z.infer<typeof session>;

export type TurnUsageLine = z.infer<typeof turnUsage>;

/** Something that a task was refused, and the flags that would grant it; null where none does. */
export type RefusedThing = z.infer<typeof refused>;

/** Why a run has no answer. `retryable` is null where `svc` does not know. */
export type ResultReason = z.infer<typeof reason>;

/** Schemas by `type`; published as docs/result.schema.json. */
export const scriptLineSchemas: Readonly<Record<'result' | 'session' | 'frame' | 'retry' | 'usage', z.ZodType>> = {
  result,
  session,
  frame,
  retry,
  usage: turnUsage,
};
