/** Starts programs of the project, and reads what they print. */

import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running program of the project, with what it has printed so far. */
export class ProgramProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<ProgramEnd>;
  stdout = '';
  stderr = '';
  readonly #name: string;
  #changed: (() => void)[] = [];

  /** `program` is the file that Node runs, the one of the tests unless `node` is another. A line of stderr that `unseen` matches is left out of what it is said to have printed. */
  constructor(
    program: string,
    args: readonly string[],
    {
      unseen,
      node = process.execPath,
      ...options
    }: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'> & { readonly unseen?: RegExp; readonly node?: string },
  ) {
    this.#name = basename(program, '.cjs');
    this.child = spawn(node, [program, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    // A character may come in two pieces.
    for (const output of [this.child.stdout, this.child.stderr]) output?.setEncoding('utf8');
    this.child.stdout?.on('data', (piece: string) => this.#note(() => (this.stdout += piece)));
    this.child.stderr?.on('data', (piece: string) =>
      this.#note(() => {
        const text = this.stderr + piece;
        this.stderr = unseen === undefined ? text : text.replace(unseen, '');
      }),
    );
    this.ended = once(this.child, 'close').then(([code, signal]) => {
      this.#note(() => {});
      const { stdout, stderr } = this;
      return { code: code as number | null, signal: signal as NodeJS.Signals | null, stdout, stderr };
    });
  }

  /** Resolves with the first match in what stdout holds; rejects when the process ends without it. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    return await this.#shown('stdout', pattern);
  }

  /** As `printed`, of stderr. */
  async complained(pattern: RegExp): Promise<RegExpExecArray> {
    return await this.#shown('stderr', pattern);
  }

  async #shown(output: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this[output]);
      if (match !== null) return match;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        const end = await this.ended;
        const last = pattern.exec(end[output]);
        if (last !== null) return last;
        const how = end.code ?? end.signal;
        throw new Error(`${this.#name} ended (${how}) before it printed ${pattern}:\n${end.stdout}${end.stderr}`);
      }
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  #note(change: () => void): void {
    change();
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}
