/** What a page and its worker say to each other. */

import type { ShownText } from '@svc/protocol/shown-text.ts';
import type { JournalStep, LiveNow, StepTexts } from '@svc/protocol/viewed-session.ts';

/** Rows as columns: names and details are for people, the rest is for drawing and counting. Times are milliseconds since the session began. */
export interface RowBlock {
  readonly first: number;
  readonly kind: Uint8Array;
  readonly flags: Uint8Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  /** The number of the task; -1 for a row of none. */
  readonly task: Int32Array;
  readonly input: Uint32Array;
  readonly output: Uint32Array;
  /** The place of each name among all names, of which `names` are those that are new. */
  readonly name: Uint32Array;
  readonly names: readonly string[];
  /** All details in one text. */
  readonly details: string;
  readonly detailLengths: Uint16Array;
}

export interface NewTask {
  readonly index: number;
  readonly id: string;
  readonly firstRow: number;
  readonly text: string;
  readonly origin: string;
  readonly isUntrusted: boolean;
  readonly start: number;
}

export interface EndedTask {
  readonly index: number;
  /** Milliseconds since the session began. */
  readonly end: number;
  readonly state: string;
  readonly why: string;
  readonly durationMs: number;
  readonly turns: number;
  readonly input: number;
  readonly output: number;
}

/** A session that a task asked for: as it was started, and later as it ended. */
export interface Child {
  readonly delegationId: string;
  readonly row: number;
  readonly task: number;
  readonly capsule: string;
  readonly version: string;
  readonly status: string;
  readonly sessionId: string | null;
}

/** Strings of a session's beginning, each cut to what a page shows. */
export interface SessionStart {
  readonly sessionId: string;
  readonly capsule: string;
  readonly version: string;
  readonly declared: string;
  readonly achieved: string;
  readonly mechanism: string;
}

export interface Block {
  readonly kind: 'rows';
  readonly rows: RowBlock;
  readonly tasks: readonly NewTask[];
  readonly ends: readonly EndedTask[];
  readonly children: readonly Child[];
  readonly start: SessionStart | null;
  /** Whether a line says what was used of all grants: one that it does not name was never used. */
  readonly hasEvidence: boolean;
}

export type FromWorker =
  | Block
  /** The trace is read to its end: what comes now is new. */
  | { readonly kind: 'whole' }
  /** Null while nothing tells what the capsule does. */
  | { readonly kind: 'live'; readonly now: LiveNow | null }
  /** Reading has ended before the end of the file. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'fault'; readonly id: number; readonly message: string };

/** Where a session is read from. */
export type Place =
  | {
      readonly kind: 'server';
      /** Of the session, absolute, with `/` at its end. */ readonly base: string;
      readonly token: string;
    }
  | {
      readonly kind: 'held';
      /** Gzip in base64. */ readonly trace: string;
      readonly texts: string | null;
    };

export type ToWorker =
  | { readonly kind: 'open'; readonly place: Place }
  /** The session of a server runs. */
  | { readonly kind: 'live' }
  | { readonly kind: 'ask'; readonly id: number; readonly what: keyof Questions; readonly about: unknown };

/** What a page may ask of its worker, and what it gets. */
export interface Questions {
  /** All that the side panel shows of a row. */
  readonly detail: { readonly about: number; readonly answer: StepDetail };
  /** The row of an event id; -1 for none. */
  readonly find: { readonly about: string; readonly answer: number };
  /** Rows of whose lines a value holds a text, in small letters; at most 100,000. */
  readonly search: { readonly about: string; readonly answer: readonly number[] };
  /** Of a task, by its number. */
  readonly result: { readonly about: number; readonly answer: ShownText };
  readonly changes: { readonly about: null; readonly answer: readonly FileChanges[] };
  readonly steps: { readonly about: null; readonly answer: readonly JournalStep[] };
}

export interface LineDetail {
  readonly row: number;
  readonly eventId: string | null;
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly arguments: ShownText | null;
  readonly edit: FileEdit | null;
  readonly texts: readonly { readonly label: string; readonly isWhy: boolean; readonly text: ShownText }[];
  readonly line: ShownText;
}

/** With what it gave: the answer of the model, the output of a call. */
export type StepDetail = LineDetail & StepTexts;

/** `-` and `+` lines and those between. */
export type DiffLine = readonly [sign: '-' | '+' | ' ', text: string];

export interface FileEdit {
  readonly path: string;
  readonly row: number;
  readonly added: number;
  readonly removed: number;
  readonly lines: readonly DiffLine[];
  /** Lines that are not shown. */
  readonly more: number;
}

export interface FileChanges {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  /** Rows of the calls that changed it. */
  readonly rows: readonly number[];
}
