/** What a list of sessions says of each of them, as `svc trace list --json` prints it. */

export interface SessionFacts {
  readonly session_id: string;
  readonly capsule: string | null;
  readonly version: string | null;
  /** That a task without a manifest was given; null of every other session. */
  readonly folder: string | null;
  /** Unix milliseconds; null where nothing says it. */
  readonly started_at_ms: number | null;
  /** `running`, the status at its end, `crashed` for one that has not come to an end and does not run, or `not-started` for one whose start came to nothing. */
  readonly status: string;
  /** From its start to its end; null for one that has not come to an end, and when nothing says it. */
  readonly duration_ms: number | null;
  /** The model that answered last, or was asked last; null before the first request, and when nothing says it. */
  readonly model: string | null;
  readonly tasks: number;
  readonly tokens: number;
  /** Lines of its trace that are longer than 16 MiB, and whose share in all this is missing. */
  readonly unread_lines: number;
  /** The first words of its first task; null without a task, or when nothing says it. */
  readonly task: string | null;
  /** Null without a journal, as the journal itself. */
  readonly steps: number | null;
  readonly journal: { readonly capture: string; readonly bytes: number; readonly trusted: boolean } | null;
  /** When `trace.keep` removed the journal, in Unix milliseconds; null where it did not. */
  readonly journal_removed_at_ms: number | null;
}
