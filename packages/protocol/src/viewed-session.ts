/** What `svc view` answers to its page, as docs/viewer.md "What the page asks" has it. Both are of one version: what is typed here is looked at by the server alone. */

import type { ApprovalOption } from './approval.ts';
import type { ShownText } from './shown-text.ts';
import type { FileChanges, LineDetail } from './viewed-rows.ts';

/** With what it gave: the answer of the model, the output of a call. */
export type StepDetail = LineDetail & StepTexts;

/** A row of the list of sessions, as `svc sessions --json` writes it. */
export interface ListedSession {
  readonly session_id: string;
  readonly capsule: string | null;
  /** Unix milliseconds; null where nothing says it. */
  readonly started_at_ms: number | null;
  readonly status: string;
  /** The folder that its task was given; null of a capsule. */
  readonly folder: string | null;
  readonly model: string | null;
  /** Is null until it ends. */
  readonly duration_ms: number | null;
  readonly tasks: number;
  readonly tokens: number;
  /** How its first task begins. */
  readonly task: string | null;
}

/** The answer to a page that asks for the list. */
export interface ViewedList {
  /** The newest first. `asks` says that a question of the session waits for an answer. */
  readonly sessions: readonly (ListedSession & { readonly asks: boolean })[];
  /** How many older ones are not listed. */
  readonly more: number;
}

/** What there is of a session, and what is not as usual with it. */
export interface ViewedFacts {
  readonly id: string;
  readonly live: boolean;
  readonly readOnly: boolean;
  readonly capture: 'content' | 'meta' | 'none';
  readonly has: { readonly trace: boolean; readonly journal: boolean; readonly files: boolean };
  readonly notes: readonly string[];
  /** As the report of the scope has it, of what the trace says was granted. */
  readonly notStopped: readonly string[];
  /** Is null if the trace does not say it. */
  readonly granted: Granted | null;
}

/** What a session was granted. */
export interface Granted {
  readonly rows: readonly {
    /** What it is a grant of, in a word or two. */
    readonly kind: string;
    readonly what: string;
    /** The line of the manifest, from 1, that asks for it; null where that is not known. */
    readonly line: number | null;
    /** What rows of the trace use it: `command`, `tool`, `connection` or `child`, by this name. Is null if a trace does not record its use. */
    readonly use: readonly [group: string, name: string] | null;
  }[];
  /** One line for people each. */
  readonly limits: readonly string[];
}

/** What an exported page holds of its session beside its record. */
export interface HeldFacts extends ViewedFacts {
  readonly row: ListedSession;
}

export interface ViewedFile {
  /** In the workdir. */
  readonly path: string;
  readonly bytes: number;
}

export interface ViewedFiles {
  readonly files: readonly ViewedFile[];
  /** There are more. */
  readonly truncated: boolean;
}

/** The texts of the step that a line of a trace records. */
export interface StepTexts {
  /** As `svc trace show` has it; null for a line of no step. */
  readonly step: number | null;
  readonly parts: readonly { readonly kind: 'text' | 'thinking' | 'output' | 'answer'; readonly text: ShownText }[];
}

/** What an exported page holds beside rows and lines: what its server would answer at a path of the session, `changes` or `result/tsk_1`. */
export type HeldAnswer = readonly [path: string, answer: ShownText | readonly FileChanges[]];

/** Where two sessions differ: the part of the output of `svc trace diff --json` that a page shows. */
export interface ViewedComparison {
  /** Where it is and what it is, in words; null if they differ in ids and times alone, as far as the notes leave that certain. */
  readonly said: readonly [where: string, what: string] | null;
  readonly parting: {
    readonly steps: { readonly a: number | null; readonly b: number | null };
    readonly difference: { readonly a: string | null; readonly b: string | null } | null;
  } | null;
  /** What kept them from being compared as a whole. */
  readonly notes?: readonly string[];
}

/** What a running capsule does right now. Each text has a bound. */
export interface LiveNow {
  /** Is null while nothing waits for an answer. */
  readonly question: {
    readonly task: string;
    readonly wait: string;
    readonly prompt: string;
    /** There for a call that waits for approval: no text answers it. */
    readonly approval?: ViewedApproval;
  } | null;
  readonly calls: readonly LiveCall[];
  /** The task that runs; null without one. */
  readonly task: string | null;
  readonly turn: number;
  /** The end of the text of the turn that is being written. */
  readonly text: string;
  readonly thinking: boolean;
  /** Why the driver asks the model again; '' when it does not. */
  readonly retry: string;
  readonly model: string;
}

/** A call that waits for approval, as a page shows it. */
export interface ViewedApproval {
  readonly id: string;
  readonly digest: string;
  /** Who asks, and which rule: printable ASCII. */
  readonly asker: string;
  /** The capsule in whose session a call can stay allowed: another one that this one has started; null for the one that is shown. Printable ASCII. */
  readonly of: string | null;
  /** What would happen, in printable ASCII. */
  readonly rows: readonly string[];
  readonly options: readonly ApprovalOption[];
}

/** A call that has not come back. */
export interface LiveCall {
  readonly key: string;
  readonly name: string;
  /** How its arguments begin. */
  readonly about: string;
  /** The end of what it has written so far. */
  readonly tail: string;
  /** Milliseconds since it began. */
  readonly ms: number;
}
