/** The schema of `approvals` in a capsule's manifest: which calls run, which a person is asked about, which are refused. */

import * as z from 'zod/mini';

import { durationSecs } from './units.ts';

/** What becomes of a call. Later ones are stricter. */
export const verdicts = ['allow', 'ask', 'deny'] as const;

export type Verdict = (typeof verdicts)[number];

/** Where an answer may come from. */
export const answerPlaces = ['terminal', 'door', 'acp', 'mcp'] as const;
/** A client of MCP may let its own model fill in a form, so it has to be named. */
const usualPlaces = answerPlaces.filter((place) => place !== 'mcp');

/** A day, the longest that a person is waited for. */
const maxTimeoutSecs = 86_400;

const someText = z.string().check(z.minLength(1));
const literal = z.union(
  [z.string(), z.number(), z.boolean(), z.null()],
  'must be a text, a number, true, false or null',
);

/** Keys that this version does not decide by: with one of them a manifest is refused, and never run with less. */
export const undecidedKeys = ['spend', 'every'] as const;

const undecided = z.optional(z.unknown());

const matched = z.strictObject({
  tool: z.optional(someText),
  args: z.optional(z.record(z.string(), literal)),
  command: z.optional(z.array(z.string()).check(z.minLength(1), z.maxLength(100))),
  spawn: z.optional(someText),
  path: z.optional(someText.check(z.maxLength(4096))),
  access: z.optional(z.enum(['write'])),
  request: z.optional(someText.check(z.maxLength(4096))),
  spend: undecided,
  every: undecided,
});

const rule = z.strictObject({ allow: z.optional(matched), ask: z.optional(matched), deny: z.optional(matched) });

export const approvals = z.strictObject({
  default: z._default(z.enum(verdicts), 'allow'),
  opaque: z._default(z.enum(['ask', 'deny']), 'ask'),
  timeout: z._default(
    z.pipe(
      durationSecs,
      z.number().check(z.refine((secs) => secs >= 1 && secs <= maxTimeoutSecs, 'must be 1s to 24h')),
    ),
    600,
  ),
  answer: z._default(z.array(z.enum(answerPlaces)).check(z.minLength(1)), usualPlaces),
  rules: z._default(z.array(rule).check(z.maxLength(1000)), []),
});

export type Approvals = z.infer<typeof approvals>;

/** What a rule is about; exactly one of `tool`, `command`, `spawn` and `request` is there in a manifest that was checked, and `path` beside `tool` alone. */
export type MatchedCall = z.infer<typeof matched>;
