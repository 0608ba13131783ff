/** The messages between the process that serves an editor and the process of one of its sessions: an object of JSON a line. */

import type { ApprovalAnswer } from '@svc/protocol/approval.ts';
import type { Question, QuestionAnswer } from '@svc/protocol/question.ts';
import type { AcpUpdate, ContentBlock, StopReason } from './updates.ts';

/** A message to the session. */
export type SessionOrder =
  /** `turn` counts the prompts of the session; the message about its end has the same number. */
  | {
      readonly kind: 'prompt';
      readonly turn: number;
      readonly text: string;
      readonly blocks: readonly ContentBlock[];
      readonly traceparent?: string;
    }
  | (QuestionAnswer & {
      readonly kind: 'answer';
      /** The turn of a prompt that is the answer, and begins a task if the question waits no more. It is null for a form. */
      readonly turn: number | null;
      readonly blocks: readonly ContentBlock[];
    })
  | (ApprovalAnswer & { readonly kind: 'decide' })
  /** The task of the last prompt. */
  | { readonly kind: 'cancel' }
  /** The other process sent this to the editor; the editor gets it again when it reopens the session. */
  | { readonly kind: 'keep'; readonly update: AcpUpdate };

/** A message from the session. */
export type SessionNews =
  | { readonly kind: 'ready' }
  | { readonly kind: 'update'; readonly update: AcpUpdate }
  | ({ readonly kind: 'question' } & Question)
  | { readonly kind: 'question-over'; readonly waitId: string }
  /** The task of a prompt is over. */
  | ({ readonly turn: number } & TurnEnd);

/** How a turn ended; `why` is the reason of a task that failed. */
export type TurnEnd =
  | { readonly kind: 'end'; readonly reason: StopReason }
  | { readonly kind: 'failed'; readonly why: string };

/** Limit for one line: the content of an update has bounds of its own, and JSON may need six characters for each of its characters. */
export const maxNews: number = 32 * 1024 * 1024;
/** A message of the editor has at most this length, and is encoded anew. */
export const maxOrder: number = 64 * 1024 * 1024;
