/** What a plan consists of, with its limits and its schema. */

import * as z from 'zod/mini';

import type { JsonSchema } from '../argument-check.ts';

/** What a plan can be, and what is kept of it. Sizes are bytes unless their name says otherwise. */
export const planLimits = {
  steps: 256,
  retries: 5,
  idLength: 64,
  /** How many characters the whole plan may have as JSON. */
  planLength: 1024 * 1024,
  /** Levels of objects and lists in the input of a step. */
  inputDepth: 64,
  /** Steps that run at the same time. */
  atOnce: 4,
  /** How much of the answer of a step later steps and the file get. */
  keptBytes: 64 * 1024,
  /** How many characters of outputs are put into the input of one step. */
  handedOnLength: 1024 * 1024,
  /** How much the model is shown of one step's answer, and below of all together. */
  shownStepBytes: 16 * 1024,
  shownPlanBytes: 128 * 1024,
} as const;

const onError = z.enum(['fail', 'skip', 'continue']);
const condition = z.strictObject({ step: z.string(), is: z.enum(['passed', 'failed', 'skipped']) });

const name = z.string().check(z.minLength(1), z.maxLength(200));
const id = z.string().check(z.maxLength(planLimits.idLength), z.regex(/^[A-Za-z0-9_-]+$/));

const submittedStep = z.strictObject({
  id,
  tool: z.optional(name),
  shell: z.optional(name),
  capsule: z.optional(name),
  version: z.optional(name),
  input: z.optional(z.unknown()),
  depends_on: z._default(z.array(z.string()).check(z.maxLength(planLimits.steps)), []),
  if: z.optional(condition),
  on_error: z._default(onError, 'fail'),
  retries: z._default(z.int().check(z.minimum(0), z.maximum(planLimits.retries)), 0),
});

/** The arguments of `submit-plan` (docs/adr/sessions.md "What a plan is"). What a step names is looked at by `checkPlan`. */
export const submittedPlan = z.strictObject({
  id,
  steps: z.array(submittedStep).check(z.minLength(1), z.maxLength(planLimits.steps)),
});

export type SubmittedPlan = z.infer<typeof submittedPlan>;
export type SubmittedStep = z.infer<typeof submittedStep>;

/** What a step does. Strings of its input may hold `{{steps.<id>.output}}`, but no command does. */
export type StepWork =
  | { readonly kind: 'tool'; readonly name: string; readonly input: Readonly<Record<string, unknown>> }
  | { readonly kind: 'shell'; readonly name: string; readonly command: string }
  | { readonly kind: 'capsule'; readonly name: string; readonly version: string; readonly task: string };

/** Whether the steps that wait for a failed one still run, or whether the plan ends with it. */
type OnError = z.infer<typeof onError>;

/** How another step must have ended for this one to run. */
type StepCondition = Readonly<z.infer<typeof condition>>;

export interface PlanStep {
  readonly id: string;
  readonly work: StepWork;
  readonly dependsOn: readonly string[];
  readonly condition: StepCondition | null;
  readonly onError: OnError;
  readonly retries: number;
}

/** A plan that can be run: every name leads somewhere and no step waits for itself. */
export interface Plan {
  readonly id: string;
  readonly steps: readonly PlanStep[];
}

/** Every step that has to end before this one may start, each once. */
export function waitsFor({ dependsOn, condition: wanted }: Pick<PlanStep, 'dependsOn' | 'condition'>): string[] {
  return [...new Set(wanted === null ? dependsOn : [...dependsOn, wanted.step])];
}

const idSchema = { type: 'string', pattern: '^[A-Za-z0-9_-]+$', maxLength: planLimits.idLength } as const;
const nameSchema = { type: 'string', minLength: 1, maxLength: 200 } as const;

const stepSchema = {
  type: 'object',
  properties: {
    id: { ...idSchema, description: 'Letters, digits, _ and -, unique in the plan.' },
    tool: { ...nameSchema, description: 'The tool to call.' },
    shell: { ...nameSchema, description: 'The shell command tool to run.' },
    capsule: { ...nameSchema, description: 'The capsule to give a task to; needs version.' },
    version: { ...nameSchema, description: 'The exact version of the capsule.' },
    input: {
      description:
        'For tool: the object of its arguments. For shell: the command, as text or as {"command": text}. For capsule: the task, as text.',
    },
    depends_on: {
      type: 'array',
      items: { type: 'string' },
      maxItems: planLimits.steps,
      description:
        'Ids of steps that must have ended before. It runs only when they passed, or say on_error: continue.',
    },
    if: {
      type: 'object',
      properties: { step: { type: 'string' }, is: { enum: ['passed', 'failed', 'skipped'] } },
      required: ['step', 'is'],
      additionalProperties: false,
      description: 'Waits for that step and runs only when it ended so.',
    },
    on_error: {
      enum: ['fail', 'skip', 'continue'],
      description:
        'When this step fails: fail (default) starts nothing more of the plan, skip skips the steps that wait for it, continue lets them run.',
    },
    retries: {
      type: 'integer',
      minimum: 0,
      maximum: planLimits.retries,
      description: 'Further attempts after a failure.',
    },
  },
  required: ['id'],
  additionalProperties: false,
} as const;

/** The input schema of `submit-plan`. It accepts what the shape `submittedPlan` accepts, and explains the rest to a model in words. */
export const planSchema: JsonSchema = {
  type: 'object',
  properties: {
    id: { ...idSchema, description: 'A name for the plan: letters, digits, _ and -.' },
    steps: {
      type: 'array',
      items: stepSchema,
      minItems: 1,
      maxItems: planLimits.steps,
      description: 'Each has exactly one of tool, shell and capsule.',
    },
  },
  required: ['id', 'steps'],
  additionalProperties: false,
};

/** With a dollar before them the braces belong to another language, that of workflow files. */
const reference = /(?<!\$)\{\{\s*steps\.([A-Za-z0-9_-]{1,64})\.output\s*\}\}/g;
/** What was meant to be one. Double braces of anything else are the tool's own. */
const anyReference = /(?<!\$)\{\{\s*steps\b[^{}]{0,100}\}{0,2}/;

interface FoundReferences {
  readonly steps: ReadonlySet<string>;
  /** The first reference that is malformed, unchanged; null when all are well-formed. */
  readonly malformed: string | null;
}

/** The steps whose output an input asks for. Keys are not looked at: only values are filled in. */
export function referencesIn(input: unknown): FoundReferences {
  const steps = new Set<string>();
  let malformed: string | null = null;
  mapStrings(input, (text) => {
    for (const [, id = ''] of text.matchAll(reference)) steps.add(id);
    malformed ??= anyReference.exec(text.replaceAll(reference, '.'))?.[0] ?? null;
    return text;
  });
  return { steps, malformed };
}

type FilledInput<T> = { readonly kind: 'filled'; readonly input: T } | { readonly kind: 'too-long' };

/**
 * A copy of `input` with every reference replaced by what `outputOf` gives for its step. What is put in is text and not read again,
 * so an output that looks like a reference stays as it is.
 */
export function fillReferences<T>(input: T, outputOf: (id: string) => string): FilledInput<T> {
  let handedOn = 0;
  const filled = mapStrings(input, (text) =>
    text.replaceAll(reference, (_whole, id: string) => {
      // A plan has room for tens of thousands of references, and each output may have to be fenced first.
      const output = handedOn > planLimits.handedOnLength ? '' : outputOf(id);
      handedOn += output.length;
      return handedOn > planLimits.handedOnLength ? '' : output;
    }),
  );
  return handedOn > planLimits.handedOnLength ? { kind: 'too-long' } : { kind: 'filled', input: filled as T };
}

/** Whether a value holds objects or lists in more than `levels` levels. */
export function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1));
}

/** Recursive, so only for values no deeper than `planLimits.inputDepth`. A key `__proto__` stays a key. */
function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => mapStrings(inner, change));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapStrings(inner, change)]));
}
