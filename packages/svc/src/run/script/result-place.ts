/** Says on a terminal where the answer to the last task stands. */

import { join, relative } from 'node:path';

import type { NumberedFrame } from '@svc/protocol/frames.ts';
import type { RunningCapsule } from '@svc/capsule/launch/running-capsule.ts';
import { exactLine, type Shown } from '@svc/terminal/screen/shown.ts';

/** The place of `out/result.txt`, once a task of the session has written it. */
export class ResultPlace {
  #workdir: string | null = null;
  #isWritten = false;

  open({ workdir }: RunningCapsule): void {
    this.#workdir = workdir;
  }

  /** The last frame of a task that completed, or that carries what was written instead. */
  note(frame: NumberedFrame): void {
    if (frame.event !== 'status' || !frame.final) return;
    this.#isWritten ||= frame.state === 'completed' || 'response' in frame;
  }

  /** `result: <path>`, relative to this directory; empty where there is no result. */
  line(cwd: string): Shown {
    if (!this.#isWritten || this.#workdir === null) return exactLine``;
    return exactLine`result: ${relative(cwd, join(this.#workdir, 'out', 'result.txt'))}\n`;
  }
}
