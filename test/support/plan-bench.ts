/** Runs plans in this process. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

import type { Digits } from '@svc/kit/exact-json.ts';
import { Inventory, type DispatchContext } from '@svc/session/tools/inventory.ts';
import type { CallVerdict, CheckedCall } from '@svc/session/tools/tool.ts';
import { type RunCapsuleStep, nothingRan } from '@svc/session/tools/plan/capsule-step.ts';
import { createSubmitPlanTool } from '@svc/session/tools/plan/submit-plan-tool.ts';
import type { Tool, ToolKind, ToolOutcome, DispatchedCall } from '@svc/session/tools/tool.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';

const clock = { monotonicMs: (): number => 0, now: (): number => 1000 };

export interface BenchOptions {
  readonly tools?: readonly Tool[];
  readonly runCapsuleStep?: RunCapsuleStep;
  readonly judge?: (call: CheckedCall) => Promise<CallVerdict>;
  readonly signal?: AbortSignal;
  readonly record?: (event: TraceEvent) => boolean;
}

/** A session's tools with `submit-plan` among them; what it records goes to `traced`. */
export interface PlanBench {
  readonly traced: TraceEvent[];
  readonly submit: (steps: readonly object[], id?: string, digits?: Digits) => Promise<DispatchedCall>;
}

/** A maker of benches whose session directory is fresh in every test and gone after it. */
export function usePlanBench(): {
  readonly bench: (options?: BenchOptions) => PlanBench;
  readonly sessionDirectory: () => string;
} {
  let session = '';
  beforeEach(() => {
    session = mkdtempSync(join(tmpdir(), 'svc-plans-'));
  });
  afterEach(() => rmSync(session, { recursive: true, force: true }));
  return { bench: (options = {}) => makeBench(session, options), sessionDirectory: () => session };
}

function makeBench(session: string, options: BenchOptions): PlanBench {
  const traced: TraceEvent[] = [];
  const submitPlan = createSubmitPlanTool({
    sessionDirectory: session,
    redact: (text) => text.replaceAll('s3cret', '[redacted]'),
    runCapsuleStep: options.runCapsuleStep ?? (async () => nothingRan('no capsules here')),
    clock,
  });
  const inventory = new Inventory([submitPlan, ...(options.tools ?? [])], clock);
  const context: DispatchContext = {
    taskId: 'tsk_1',
    place: 'tsk_1/1/m1/t1',
    settle: (look) => look(),
    signal: options.signal ?? new AbortController().signal,
    emitText: () => {},
    emitThinking: () => {},
    requestInput: async () => ({ kind: 'timed-out' }),
    judge: options.judge ?? (async () => ({ kind: 'proceed' })),
    record: (event) => {
      traced.push(event);
      return options.record?.(event) ?? true;
    },
  };
  const submit: PlanBench['submit'] = (steps, id = 'p', digits = {}) =>
    inventory.dispatch({ id: 'call_1', name: 'submit-plan', input: { id, steps }, digits }, context);
  return { traced, submit };
}

/** A tool that takes anything, but `n` only as a whole number. */
export function planTool(name: string, call: Tool['call'], kind: ToolKind = 'wasm'): Tool {
  const inputSchema = { type: 'object', properties: { n: { type: 'integer' } } };
  return { name, description: name, kind, inputSchema, call };
}

export function answers(content: string, over: Partial<ToolOutcome> = {}): Tool['call'] {
  return async () => ({ status: 'passed', content, exitCode: null, truncated: false, ...over });
}

/** Answers with its arguments. */
export const echo = planTool('echo', async (args) => ({
  status: 'passed',
  content: JSON.stringify(args),
  exitCode: null,
  truncated: false,
}));

/** What the model reads of a plan. */
export interface ShownPlan {
  readonly outcome: string;
  readonly steps: readonly Readonly<Record<string, unknown>>[];
  readonly record?: string;
  readonly record_problem?: string;
}

export function shown({ unfenced }: DispatchedCall): ShownPlan {
  return JSON.parse(unfenced) as ShownPlan;
}
