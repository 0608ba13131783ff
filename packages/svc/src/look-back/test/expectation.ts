/** Reads what a recorded test expects: `expect.yaml` beside its recording. */

import * as z from 'zod/mini';

import { readDocument, type Findings } from '@svc/artifacts/manifest/checked-document.ts';
import { Draft } from '@svc/artifacts/manifest/key-path.ts';
import { closestName } from '@svc/kit/diagnostics/closest-name.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';

const maxPaths = 1000;
const maxTasks = 10_000;

/** What of a comparison a path begins with. */
export const comparedParts = ['grants', 'system', 'tools', 'model', 'maxTokens', 'messages', 'calls'] as const;

const path = z.string().check(z.regex(/^(?:\/[^/]*)+$/, 'must be a path such as /system or /tools/sh/description'));

const task = z.strictObject({
  state: z.enum(['completed', 'failed', 'canceled']),
  result: z.optional(z.nullable(z.string())),
});

/** `expect.yaml` (docs/testing.md "What a test expects"). */
export const expectationSchema = z.strictObject({
  description: z.optional(z.string()),
  requests: z._default(
    z
      .string()
      .check(
        z.regex(
          /^(?:recorded|changed|sha256:[0-9a-f]{16})$/,
          'must be recorded, changed or the sha256:… that --update wrote',
        ),
      ),
    'recorded',
  ),
  ignore: z._default(z.array(path).check(z.maxLength(maxPaths)), []),
  grants: z._default(z.record(path, z.nullable(z.union([z.string(), z.number(), z.boolean()]))), {}),
  tasks: z.optional(z.array(task).check(z.maxLength(maxTasks))),
});

/** What a test expects. Without `tasks`, what was recorded. */
export type Expectation = z.infer<typeof expectationSchema>;

/** A task that is over. */
export type ExpectedTask = z.infer<typeof task>;

/** Reads the text of an `expect.yaml`; an empty one expects what was recorded. Throws a `DiagnosticList` of `E-RUN-065`. */
export function readExpectation(file: string, text: string): Expectation {
  return readDocument({ file, text, schema: expectationSchema, rules: checkIgnored, refusal: 'E-RUN-065' }).value;
}

function checkIgnored(data: unknown, findings: Findings): void {
  new Draft(data).list('ignore').forEach((ignored, index) => {
    const [, part = ''] = typeof ignored === 'string' ? ignored.split('/') : [];
    if (typeof ignored !== 'string' || comparedParts.some((known) => known === part)) return;
    const meant = closestName(part, comparedParts);
    findings.add('E-RUN-065', `ignore[${index}] (${quoted(ignored)}) names nothing that is compared`, {
      path: ['ignore', index],
      hint:
        meant === undefined
          ? `a path begins with one of ${comparedParts.map((known) => `/${known}`).join(', ')}`
          : `did you mean /${meant}?`,
    });
  });
}
