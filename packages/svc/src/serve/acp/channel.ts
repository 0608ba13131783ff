/** What the process that speaks to an editor and the process of one of its sessions say to each other: an object of JSON a line. */

import type { Question, QuestionAnswer } from '@svc/protocol/question.ts';
import type { AcpUpdate, ContentBlock, StopReason } from './updates.ts';

/** What goes to the session. */
export type SessionOrder =
  /** `turn` counts the prompts of the session: its end is said with the same number. */
  | {
      readonly kind: 'prompt';
      readonly turn: number;
      readonly text: string;
      readonly blocks: readonly ContentBlock[];
      readonly traceparent?: string;
    }
  | (QuestionAnswer & {
      readonly kind: 'answer';
      /** For a prompt that is the answer: where the question is not asked any more, it begins a task. A form has null. */
      readonly turn: number | null;
      readonly blocks: readonly ContentBlock[];
    })
  /** The task of the last prompt. */
  | { readonly kind: 'cancel' }
  /** The other process sent this to the editor, and the editor gets it again when it opens the session again. */
  | { readonly kind: 'keep'; readonly update: AcpUpdate };

/** What comes from the session. */
export type SessionNews =
  | { readonly kind: 'ready' }
  | { readonly kind: 'update'; readonly update: AcpUpdate }
  | ({ readonly kind: 'question' } & Question)
  | { readonly kind: 'question-over'; readonly waitId: string }
  /** The task of a prompt is over. */
  | ({ readonly turn: number } & TurnEnd);

/** How a turn ended: `why` of a task that failed. */
export type TurnEnd =
  | { readonly kind: 'end'; readonly reason: StopReason }
  | { readonly kind: 'failed'; readonly why: string };

/** Limit for one line: what an update holds has bounds of its own, and each character of it may be six in JSON. */
export const longestNews: number = 32 * 1024 * 1024;
/** What an editor sends is as long at most, and encoded anew. */
export const longestOrder: number = 64 * 1024 * 1024;
