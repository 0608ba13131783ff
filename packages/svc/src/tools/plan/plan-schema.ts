import type { JsonSchema } from '../argument-check.ts';
import { planLimits } from './plan.ts';

const id = { type: 'string', pattern: '^[A-Za-z0-9_-]+$', maxLength: planLimits.idLength } as const;
const name = { type: 'string', minLength: 1, maxLength: 200 } as const;

const step = {
  type: 'object',
  properties: {
    id: { ...id, description: 'Letters, digits, _ and -, unique in the plan.' },
    tool: { ...name, description: 'The tool to call.' },
    shell: { ...name, description: 'The shell command tool to run.' },
    capsule: { ...name, description: 'The capsule to give a task to; needs version.' },
    version: { ...name, description: 'The exact version of the capsule.' },
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

/** The input schema of `submit-plan`. It accepts what the shape `submittedPlan` accepts, and tells a model the rest in words. */
export const planSchema: JsonSchema = {
  type: 'object',
  properties: {
    id: { ...id, description: 'A name for the plan: letters, digits, _ and -.' },
    steps: {
      type: 'array',
      items: step,
      minItems: 1,
      maxItems: planLimits.steps,
      description: 'Each has exactly one of tool, shell and capsule.',
    },
  },
  required: ['id', 'steps'],
  additionalProperties: false,
};
