/** What `svc view` sends its page of a trace: a row for each line, and all of a line when it is asked for. */

import type { ShownText } from './shown-text.ts';

/** Between how a row went wrong and what it was about, in its detail. */
export const betweenDetails = ' · ';

/** Rows as columns: names and details are for people, the rest is for drawing and counting. Times are milliseconds since the session began. */
export interface RowBlock {
  readonly first: number;
  readonly kind: readonly number[];
  readonly flags: readonly number[];
  readonly start: readonly number[];
  readonly duration: readonly number[];
  /** The number of the task; -1 for a row of none. */
  readonly task: readonly number[];
  readonly input: readonly number[];
  readonly output: readonly number[];
  /** The place of each name among all names; `names` holds the new ones. */
  readonly name: readonly number[];
  readonly names: readonly string[];
  readonly details: readonly string[];
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

/** What the beginning of a session says, each text cut to what a page shows. */
export interface SessionStart {
  /** Unix milliseconds; 0 where its line does not say it. */
  readonly startedAt: number;
  readonly sessionId: string;
  readonly capsule: string;
  readonly version: string;
  readonly declared: string;
  readonly achieved: string;
  readonly mechanism: string;
}

export interface Block {
  readonly rows: RowBlock;
  readonly tasks: readonly NewTask[];
  readonly ends: readonly EndedTask[];
  readonly children: readonly Child[];
  readonly start: SessionStart | null;
  /** Whether a line says what was used of all grants: one that it does not name was never used. */
  readonly hasEvidence: boolean;
}

/** All that the side panel shows of a line. */
export interface LineDetail {
  readonly row: number;
  readonly eventId: string | null;
  readonly facts: readonly Fact[];
  readonly arguments: ShownText | null;
  readonly edit: FileEdit | null;
  readonly texts: readonly { readonly label: string; readonly isWhy: boolean; readonly text: ShownText }[];
  readonly line: ShownText;
}

/** What a line says beside its texts: a number with what it counts. */
export type Fact =
  | readonly [label: string, value: string]
  | readonly [label: string, value: number, unit: 'at' | 'ms' | 'bytes'];

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
