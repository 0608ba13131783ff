/** Sends what happens in a session to everything that shows or records it. */

import type { Digits } from '@svc/kit/exact-json.ts';
import type { Question } from '@svc/protocol/question.ts';
import type { HookArtifact } from '../hooks/session-hooks.ts';
import type { DriverFailure, InferenceRequest, InferenceResponse, RetryReason } from '../model/driver.ts';
import type { Usage } from '../model/driver-notes.ts';
import type { RetryWait } from '../model/driver-notes.ts';
import type { SpendRefusal } from '../model/spend-meter.ts';
import type { DispatchedCall, FileChange, RequestedCall, RunningCommand } from '../tools/tool.ts';
import type { RefusedFile } from '../tools/inventory.ts';
import type { JudgedDispatch } from '../tools/tool.ts';
import type { PreparedText, TraceEvent } from '@svc/record/trace/events.ts';
import type { Announcement, Task, TaskEvent } from './task.ts';

/** What an inference call came to, its tokens counted. */
export type CountedOutcome =
  | { readonly kind: 'response'; readonly response: InferenceResponse; readonly usage: Usage }
  | DriverFailure;

/** How a question to the sender of the task was settled. */
export type QuestionEnd = 'answered' | 'timed-out' | 'canceled';

/** One thing that happens in a session. Durations are whole milliseconds. */
export type Activity =
  /** The board accepted a task. `prepared` holds its text as the trace will have it. */
  | { readonly kind: 'task-submitted'; readonly task: Task; readonly prepared?: PreparedText | undefined }
  /** The first attempt is 1. */
  | { readonly kind: 'attempt-started'; readonly task: Task; readonly attempt: number }
  /** A task moved in a way that clients hear of: a turn began, or the attempt has come to its last state. */
  | {
      readonly kind: 'state-changed';
      readonly task: Task;
      readonly event: TaskEvent;
      readonly announcement: Announcement;
    }
  | {
      readonly kind: 'inference-started';
      readonly task: Task;
      readonly turn: number;
      readonly request: InferenceRequest;
    }
  /** Chunks as the model, or a tool, gives them. */
  | { readonly kind: 'text' | 'thinking'; readonly task: Task; readonly text: string }
  /** No further chunk of the inference comes. `isCanceled` when nobody waits for its answer any more. */
  | { readonly kind: 'inference-left'; readonly task: Task; readonly isCanceled: boolean }
  | {
      readonly kind: 'inference-ended';
      readonly task: Task;
      readonly turn: number;
      readonly request: InferenceRequest;
      readonly outcome: CountedOutcome;
      /** Why the driver asked the model again, the first ones. */
      readonly retries: readonly string[];
      /** Where the last request went; null where none was seen. */
      readonly host: string | null;
      /** Until the first piece of the answer came; null where none came before its end. */
      readonly firstMs: number | null;
      /** When it began, in Unix milliseconds. */
      readonly startMs: number;
      readonly durationMs: number;
    }
  /** The driver waits before it asks the model again; `retried` follows once it does. Not every driver says so. */
  | {
      readonly kind: 'retry-waits';
      readonly task: Task;
      readonly turn: number;
      readonly wait: RetryWait;
      readonly why: RetryReason;
    }
  /** The driver asks the model again, for this reason. */
  | { readonly kind: 'retried'; readonly task: Task; readonly turn: number; readonly reason: string }
  | { readonly kind: 'call-started'; readonly task: Task; readonly turn: number; readonly call: RequestedCall }
  /** Whether a call was let through; said of calls that another call makes too, as they end. */
  | { readonly kind: 'call-judged'; readonly task: Task; readonly call: JudgedDispatch }
  /** The component of a tool was refused a file. */
  | { readonly kind: 'file-refused'; readonly task: Task; readonly file: RefusedFile }
  /** Not said of a call that a cancel cut off. */
  | {
      readonly kind: 'call-ended';
      readonly task: Task;
      readonly turn: number;
      /** The arguments as the model gave them. */
      readonly input: unknown;
      /** The digits of the numbers in `input` that JavaScript cannot hold as the model wrote them. */
      readonly digits?: Digits | undefined;
      readonly call: DispatchedCall;
      /** Its number among the steps of the journal; null where it has none. */
      readonly step: number | null;
    }
  | { readonly kind: 'question'; readonly task: Task; readonly question: Question }
  /** A person can answer the question of a child whose task waits for its turn; said again once another question was settled. The trace has neither of these two. */
  | { readonly kind: 'question-offered'; readonly task: Task; readonly question: Question; readonly isAgain: boolean }
  /** It was answered before that turn, or with null is not needed any more. */
  | { readonly kind: 'offer-over'; readonly task: Task; readonly question: Question; readonly answer: string | null }
  | {
      readonly kind: 'question-settled';
      readonly task: Task;
      readonly question: Question;
      readonly end: QuestionEnd;
      /** It is null unless it was answered. */
      readonly answer: string | null;
      /** What clients receive; null of a canceled question. */
      readonly announcement: Announcement | null;
      readonly durationMs: number;
    }
  /** The reply of a task whose last turn streamed none of it. */
  | { readonly kind: 'whole-reply'; readonly task: Task; readonly text: string }
  /** A hook has committed this to be shown with the result. */
  | { readonly kind: 'hook-artifact'; readonly task: Task; readonly artifact: HookArtifact }
  | { readonly kind: 'spend-refused'; readonly task: Task; readonly refusal: SpendRefusal }
  /** `announcement` is set for a task that waited in the queue; one that ran announces its own end. */
  | { readonly kind: 'task-canceled'; readonly task: Task; readonly announcement: Announcement | null }
  /** Emitted before clients hear of the end. A hook may still reopen a task that completed. */
  | {
      readonly kind: 'attempt-ended';
      readonly task: Task;
      readonly state: 'completed' | 'failed' | 'canceled';
      readonly message: string;
      /** Why, where the message does not say it. */
      readonly error: string | undefined;
      readonly turns: number;
      readonly usage: Usage;
      readonly durationMs: number;
    }
  | { readonly kind: 'task-reopened'; readonly task: Task; readonly attempt: number; readonly feedback: string }
  /** The task is over for good: its hooks have spoken and nothing of it runs. Said of every task that was submitted, once. */
  | { readonly kind: 'task-settled'; readonly task: Task }
  /** What only the trace holds; `task` is the one whose attempt it belongs to, null for the session's own. */
  | { readonly kind: 'noted'; readonly task: Task | null; readonly event: TraceEvent };

/** Where a call stands, for those who hear what its commands write. */
export interface CallPlace {
  readonly task: Task;
  readonly turn: number;
  /** The provider's; null where it gave none. */
  readonly callId: string | null;
  readonly place: string;
}

/** Hears what commands write while their calls last. */
export interface OutputListener {
  wrote(call: CallPlace, command: RunningCommand, bytes: Buffer): void;
  /** Nothing more comes of the commands of this call. */
  over(call: CallPlace): void;
}

/** Hears which files calls have changed, with what they hold, before the call is said to have ended. */
export type FileListener = (task: Task, change: FileChange) => void;

/** Hears of everything as it happens. Throws only the Diagnostic of a record that cannot be written, which ends the session. */
export type ActivityListener = (activity: Activity) => void;

/** The activity of one session: whatever shows or records the session subscribes, and each hears of everything in the order of subscribing. */
export class SessionActivity {
  #listeners: readonly ActivityListener[] = [];
  #outputListeners: readonly OutputListener[] = [];
  /** It is null while nobody listens. */
  files: FileListener | null = null;

  /** Hears what commands write for all who listen; null while nobody does: it is then not looked at. */
  get output(): OutputListener | null {
    const [first = null] = this.#outputListeners;
    return this.#outputListeners.length > 1 ? this.#everyOutput : first;
  }

  readonly #everyOutput: OutputListener = {
    wrote: (...told) => {
      for (const listener of this.#outputListeners) listener.wrote(...told);
    },
    over: (call) => {
      for (const listener of this.#outputListeners) listener.over(call);
    },
  };

  /** The function ends the subscription. */
  hearOutput(listener: OutputListener): () => void {
    this.#outputListeners = [...this.#outputListeners, listener];
    return () => {
      this.#outputListeners = this.#outputListeners.filter((other) => other !== listener);
    };
  }

  /** Calls every listener. Throws what the first failing one throws; the later ones are not called then. */
  emit(activity: Activity): void {
    for (const listener of this.#listeners) listener(activity);
  }

  /** The function ends the subscription. */
  subscribe(listener: ActivityListener): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }
}
