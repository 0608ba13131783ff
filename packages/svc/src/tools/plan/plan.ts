import * as z from 'zod/mini';

/** What a plan can be, and what is kept of it. Sizes are bytes unless their name says otherwise. */
export const planLimits = {
  steps: 256,
  retries: 5,
  idLength: 64,
  /** Of the whole plan as JSON, in characters. */
  planLength: 1024 * 1024,
  /** Levels of objects and lists in the input of a step. */
  inputDepth: 64,
  /** Steps that run at the same time. */
  atOnce: 4,
  /** Of what each step answered, what later steps and the file get. */
  keptBytes: 64 * 1024,
  /** Of the outputs that are put into the input of one step, in characters. */
  handedOnLength: 1024 * 1024,
  /** Of what one step answered, and of all together, what the model is shown. */
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

/** The arguments of `submit-plan` (contracts §10). What a step names is looked at by `checkPlan`. */
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
export type OnError = z.infer<typeof onError>;

/** How another step must have ended for this one to run. */
export type StepCondition = Readonly<z.infer<typeof condition>>;

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
