/** Runs a program in a window of tmux. */

import { execFileSync, spawnSync } from 'node:child_process';

/** Whether tmux is here. */
export function hasTmux(): boolean {
  return spawnSync('tmux', ['-V']).status === 0;
}

interface TmuxWindowOptions {
  readonly name: string;
  readonly columns: number;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A window of a tmux server of its own, 24 rows high at first, that keeps what is scrolled out of it. */
export class TmuxWindow {
  readonly #socket: string;
  readonly #options: TmuxWindowOptions;

  constructor(options: TmuxWindowOptions) {
    this.#socket = `svc-${process.pid}-${options.name}`;
    this.#options = options;
    const size = ['-x', String(options.columns), '-y', '24'];
    const history = ['set-option', '-g', 'history-limit', '200000'];
    this.#tmux('start-server', ';', ...history, ';', 'new-session', '-d', ...size);
  }

  /** Runs a command of the shell in place of what ran. */
  run(command: string): void {
    this.#tmux('respawn-pane', '-k', command);
  }

  type(keys: string): void {
    this.#tmux('send-keys', '-l', keys);
  }

  /** One size after the other, as fast as tmux does it. */
  resize(...sizes: readonly (readonly [columns: number, rows: number])[]): void {
    const words: string[] = [];
    for (const [columns, rows] of sizes) words.push(';', 'resize-window', '-x', `${columns}`, '-y', `${rows}`);
    this.#tmux(...words.slice(1));
  }

  /** The rows that it shows now. */
  get screen(): readonly string[] {
    return rowsOf(this.#tmux('capture-pane', '-p'));
  }

  /** All rows from the first on, one that tmux has wrapped as one. */
  get history(): readonly string[] {
    return rowsOf(this.#tmux('capture-pane', '-p', '-J', '-S', '-'));
  }

  close(): void {
    spawnSync('tmux', ['-L', this.#socket, 'kill-server']);
  }

  #tmux(...args: readonly string[]): string {
    const { cwd, env } = this.#options;
    return execFileSync('tmux', ['-L', this.#socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      cwd,
      env: { ...process.env, LANG: 'C.UTF-8', ...env },
    });
  }
}

function rowsOf(captured: string): readonly string[] {
  return captured.split('\n').map((row) => row.trimEnd());
}
