/** Says where a component that is run again leaves the log of what it was answered. */

import type { ImportLogEntry } from './import-log.ts';

/** A component that is run again asks for something else than it did. */
export class ComponentParted extends Error {
  /** The import that it asks for; null where it ends, or is called, and the log goes another way. */
  readonly asked: string | null;
  /** What is different, as a clause. */
  readonly problem: string;
  /** The arguments of the import, where they differ: as recorded and now. */
  readonly args: { readonly recorded: unknown; readonly now: unknown } | null;

  constructor(asked: string | null, problem: string, args: ComponentParted['args'] = null) {
    super(problem);
    this.name = 'ComponentParted';
    this.asked = asked;
    this.problem = problem;
    this.args = args;
  }
}

/** Where a component asks for something else than the entry that comes next in its log; `asked` is null where it ends there. */
export function partedAt(expected: ImportLogEntry | undefined, asked: string | null, args: unknown): ComponentParted {
  if (asked === null)
    return new ComponentParted(null, `ends where the recording goes on with ${expected?.[0] ?? 'more'}`);
  if (expected === undefined) return new ComponentParted(asked, 'is asked once more than in the recording');
  const [name, recorded] = expected;
  if (name !== asked) return new ComponentParted(asked, `is asked where the recording has ${name}`);
  return new ComponentParted(asked, 'is asked with other arguments', { recorded, now: args });
}
