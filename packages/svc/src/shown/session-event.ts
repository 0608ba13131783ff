/** What a person is shown of a session, from whichever side it is looked at. */

import type { Digits } from '@svc/kit/exact-json.ts';
import type { Question } from '@svc/protocol/question.ts';

/** What a tool is called with. */
export interface ShownInput {
  /** It is undefined if nobody reported the arguments. */
  readonly input: unknown;
  /** The digits of the numbers in it that JavaScript rounds. */
  readonly digits?: Digits | undefined;
}

/** A call of a tool, once it has ended. */
export interface ShownResult extends ShownInput {
  readonly callId: string | null;
  readonly name: string;
  /** Without the markers of untrusted text. */
  readonly content: string;
  /** Set for a command that ran to its end. */
  readonly exitCode: number | null;
  /** Whether the content lacks a part of what there was. */
  readonly isCut: boolean;
  readonly isError: boolean;
  readonly isRefused: boolean;
  readonly durationMs: number | null;
  /** As `svc trace steps` counts; null where that is not known. */
  readonly step: number | null;
}

/** Delay before the next retry, and its number out of the maximum. */
export interface ShownWait {
  readonly waitMs: number;
  readonly attempt: number;
  readonly of: number;
}

/** One thing that happens in a session and is shown. Every text may come from anywhere. */
export type SessionEvent =
  /** `waiting` is the place in the queue, 0 for a task that begins at once. */
  | {
      readonly kind: 'said';
      readonly taskId: string;
      readonly text: string;
      readonly by: 'user' | 'peer' | 'completion';
      readonly waiting: number;
    }
  | { readonly kind: 'task-started'; readonly taskId: string }
  /** The model is asked. */
  | { readonly kind: 'turn'; readonly taskId: string; readonly turn: number }
  | { readonly kind: 'text' | 'thinking'; readonly taskId: string; readonly text: string }
  | { readonly kind: 'text-ended' }
  | ({ readonly kind: 'call'; readonly callId: string | null; readonly name: string } & ShownInput)
  | { readonly kind: 'result'; readonly result: ShownResult }
  /** A hook has something to show. */
  | { readonly kind: 'shown-by-hook'; readonly name: string; readonly content: string }
  /** A hook has shortened the conversation, which was too long for the model or soon would have been. */
  | { readonly kind: 'shortened'; readonly by: string }
  /** The model is asked again, at once or, where `wait` says so, later. */
  | { readonly kind: 'retry'; readonly reason: string; readonly wait: ShownWait | null }
  /** What a command writes while it runs: the end of it, and how much in front of that is left out. */
  | { readonly kind: 'output'; readonly callId: string | null; readonly text: string; readonly leftOutBytes: number }
  | { readonly kind: 'usage'; readonly tokens: number }
  | ({ readonly kind: 'question' } & Question)
  | {
      readonly kind: 'question-settled';
      readonly taskId: string;
      readonly waitId: string;
      readonly end: 'answered' | 'timed-out' | 'canceled';
      /** It is null without one, and if nobody reported it. */
      readonly answer: string | null;
    }
  | {
      readonly kind: 'task-ended';
      readonly taskId: string;
      readonly state: string;
      /** Why it failed; null where that has been shown. */
      readonly reason: string | null;
    };
