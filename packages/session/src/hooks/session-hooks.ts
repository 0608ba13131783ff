/** What a session sends to its hooks, and what they may answer. */

import type { InferenceRequest, InferenceResponse, Message } from '../model/driver.ts';
import type { Usage } from '../model/driver-notes.ts';
import type { CallVerdict, CheckedCall } from '../tools/tool.ts';

/** A task as its hooks see it. */
export interface HookedTask {
  readonly id: string;
  readonly contextId: string;
  readonly origin: 'user' | 'message' | 'peer' | 'completion';
  readonly trusted: boolean;
  /** 1 for the first run of the task, one more after each reopening. */
  readonly attempt: number;
  /** Aborted when the task is canceled: what waits for a hook then settles soon, and nobody reads what it settles to. */
  readonly signal: AbortSignal;
}

/** A turn of the model that brought a response. */
export interface FinishedTurn {
  /** Counts from 1 within the attempt. */
  readonly turn: number;
  readonly model: string;
  readonly response: InferenceResponse;
  readonly usage: Usage;
}

export interface JudgedCall extends Omit<CheckedCall, 'place'> {
  readonly turn: number;
}

/** A conversation that nears what its model can take. */
export interface FullContext {
  readonly messages: readonly Message[];
  readonly estimatedTokens: number;
  readonly maxTokens: number;
}

export type CompactionVerdict =
  /** No hook is asked for compactions. */
  | { readonly kind: 'nobody' }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'replaced'; readonly hookName: string; readonly messages: readonly Message[] }
  /** The hook failed, which fails the task (docs/hooks.md "When a hook fails"). */
  | { readonly kind: 'failed'; readonly hookName: string; readonly error: string };

export interface TaskEnd {
  readonly state: 'completed' | 'failed' | 'canceled';
  /** The reply of a completed task, what went wrong with a failed one. */
  readonly text: string | null;
}

export type TaskEndVerdict =
  | { readonly kind: 'accepted' }
  /** The task is to run again; the model reads the feedback. */
  | { readonly kind: 'reopen'; readonly feedback: string };

/** What a hook has committed to be shown with the task's result. */
export interface HookArtifact {
  readonly hookName: string;
  readonly content: string;
}

/**
 * The hooks of a session, as its tasks meet them (docs/hooks.md "Events"). Each function resolves once every blocking hook has answered; an
 * async one has only been notified. The trace records a hook that fails: a function rejects only with the Diagnostic of a trace
 * that cannot be written.
 */
export interface SessionHooks {
  taskStarted(task: HookedTask, text: string): Promise<void>;
  inferred(task: HookedTask, turn: FinishedTurn): Promise<void>;
  /** Asked before a tool, command or skill runs. A hook that may deny and fails refuses the call. */
  judgeCall(task: HookedTask, call: JudgedCall): Promise<CallVerdict>;
  compact(task: HookedTask, context: FullContext): Promise<CompactionVerdict>;
  taskEnded(task: HookedTask, end: TaskEnd): Promise<TaskEndVerdict>;
  /** Whether any hook may answer `taskEnded` with a reopening. */
  readonly mayReopen: boolean;
  /** What hooks committed during the task, in the order of the hooks; handed out once. */
  takeArtifacts(taskId: string): readonly HookArtifact[];
  /** A hook wanted what it may not have just now: it is written to the trace like a failure. */
  refused(event: 'on-compaction' | 'on-task-end', reason: string): void;
  /** Whether the component of a hook has broken off, which the session's status shows (docs/protocol.md "The end of a session"). */
  readonly trapped: boolean;
}

/** The same, as the capsule that runs the session meets them. */
export interface CapsuleHooks extends SessionHooks {
  /** Called before the session starts: hooks learn its tools and may write files. */
  stage(tools: InferenceRequest['tools']): Promise<void>;
  sessionStarted(): Promise<void>;
  /** Resolves once every hook has heard it, async ones included, or their time is over. Hooks hear nothing afterwards. */
  sessionEnded(status: 'ok' | 'failed' | 'trapped'): Promise<void>;
}

/** A session without hooks. */
export const noHooks: CapsuleHooks = {
  stage: async () => {},
  sessionStarted: async () => {},
  sessionEnded: async () => {},
  taskStarted: async () => {},
  inferred: async () => {},
  judgeCall: async () => ({ kind: 'proceed' }),
  compact: async () => ({ kind: 'nobody' }),
  taskEnded: async () => ({ kind: 'accepted' }),
  mayReopen: false,
  takeArtifacts: () => [],
  refused: () => {},
  trapped: false,
};

/** Hooks that hear of compactions alone: opens none of them before the first. */
export function lateHooks(open: () => Promise<CapsuleHooks>): CapsuleHooks {
  let opened: CapsuleHooks | null = null;
  const now = (): CapsuleHooks => opened ?? noHooks;
  return {
    stage: (...told) => now().stage(...told),
    sessionStarted: () => now().sessionStarted(),
    sessionEnded: (...told) => now().sessionEnded(...told),
    taskStarted: (...told) => now().taskStarted(...told),
    inferred: (...told) => now().inferred(...told),
    judgeCall: (...told) => now().judgeCall(...told),
    compact: async (...asked) => await (opened ??= await open()).compact(...asked),
    taskEnded: (...told) => now().taskEnded(...told),
    mayReopen: false,
    takeArtifacts: (...of) => now().takeArtifacts(...of),
    refused: (...told) => now().refused(...told),
    get trapped() {
      return now().trapped;
    },
  };
}
