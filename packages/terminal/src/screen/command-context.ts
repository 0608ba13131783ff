/** What a command may touch outside its own code. */

import type { Output } from './output.ts';

/** What a command may touch of the outside: its arguments aside, everything comes through here. */
export interface CommandContext {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Called by `svc run` once its listener is up: everything that a start needs has been compiled by then. */
  readonly onStarted?: () => void;
  /** Which build of the program this is; absent for one that runs from its sources. */
  readonly build?: string;
}
