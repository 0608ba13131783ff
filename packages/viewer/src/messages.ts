/** What a page and its worker say to each other. */

import type { ShownText } from '@svc/protocol/shown-text.ts';
import type { Block, FileChanges } from '@svc/protocol/viewed-rows.ts';
import type { LiveNow, StepDetail } from '@svc/protocol/viewed-session.ts';

export type FromWorker =
  | { readonly kind: 'rows'; readonly block: Block }
  /** The trace is read to its end: what comes now is new. */
  | { readonly kind: 'whole' }
  /** `now` is null while nothing is known of the capsule. */
  | { readonly kind: 'live'; readonly now: LiveNow | null }
  /** Reading has ended before the end of the file. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'fault'; readonly id: number; readonly message: string };

/** Where a session is read from. */
export type Place =
  | {
      readonly kind: 'server';
      /** The address of the session, absolute, with `/` at its end. */ readonly base: string;
      readonly token: string;
    }
  | {
      readonly kind: 'held';
      /** Gzip in base64, as the server has them too: blocks of rows, all of each line, and what else is asked. */
      readonly rows: string;
      readonly lines: string;
      readonly answers: string;
    };

export type ToWorker =
  | { readonly kind: 'open'; readonly place: Place }
  /** The session of a server runs. */
  | { readonly kind: 'live' }
  | { readonly kind: 'ask'; readonly id: number; readonly path: string };

/** What a page may ask about a session, and what it gets: at a path of these names, with what it is about behind them. */
export interface Questions {
  /** All that the side panel shows of a row. */
  readonly detail: { readonly about: number; readonly answer: StepDetail };
  /** The row of an event id; -1 without one. */
  readonly find: { readonly about: string; readonly answer: number };
  /** Rows of whose lines a value holds a text, in small letters; at most 100,000. */
  readonly search: { readonly about: string; readonly answer: readonly number[] };
  /** The result of a task, by its id. */
  readonly result: { readonly about: string; readonly answer: ShownText };
  readonly changes: { readonly about: null; readonly answer: readonly FileChanges[] };
}
