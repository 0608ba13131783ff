/** Stands in for a program that was launched. */

import { PassThrough } from 'node:stream';

import type { LaunchedProcess, LaunchEnd, Launcher } from '@svc/sandbox/launcher.ts';

/** A process that writes and ends when a test says so, and takes note of signals. */
export class FakeProcess implements LaunchedProcess {
  readonly pid = 1;
  readonly stdin = null;
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly signals: NodeJS.Signals[] = [];
  readonly ended: Promise<LaunchEnd>;
  readonly #ignores: readonly NodeJS.Signals[];
  #end: (end: LaunchEnd) => void = () => {};

  /** It ends by every signal but those that it ignores. */
  constructor(ignores: readonly NodeJS.Signals[] = []) {
    this.#ignores = ignores;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Resolves once the bytes have been taken. */
  async writes(text: string | Uint8Array, to: 'stdout' | 'stderr' = 'stdout'): Promise<void> {
    this[to].write(text);
    while (this[to].readableLength > 0) await new Promise(setImmediate);
    // Their reader keeps them.
    await new Promise(setImmediate);
  }

  exits(exitCode: number): void {
    this.#over({ kind: 'exited', exitCode });
  }

  kill(signal: NodeJS.Signals): void {
    this.signals.push(signal);
    if (!this.#ignores.includes(signal)) this.#over({ kind: 'signaled', signal });
  }

  #over(end: LaunchEnd): void {
    this.stdout.end();
    this.stderr.end();
    this.#end(end);
  }
}

/** Starts these processes one after another, whatever it is asked for. */
export function launcherOf(...processes: readonly LaunchedProcess[]): Launcher {
  const left = [...processes];
  return {
    launch: async () => {
      const process = left.shift();
      return process === undefined ? { kind: 'refused', reason: 'no process is left' } : { kind: 'started', process };
    },
  };
}
