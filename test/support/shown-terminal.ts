/** Stands in for a terminal, and says what it shows. */

import { PassThrough } from 'node:stream';
import headless from '@xterm/headless';

import { Output } from '@svc/terminal/screen/output.ts';
import { terminalOf } from '@svc/terminal/screen/terminal-kind.ts';
import { writtenText } from './written-text.ts';

/** A stream that is a terminal of some size, and what that terminal shows. */
export class ShownTerminal {
  readonly stream = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
  readonly terminal: headless.Terminal;
  readonly output: Output;

  constructor(columns = 80, rows = 24, env: Readonly<Record<string, string>> = { TERM: 'xterm-256color' }) {
    this.output = new Output(() => this.stream, terminalOf(env));
    Object.assign(this.stream, { columns, rows });
    this.terminal = new headless.Terminal({ cols: columns, rows, scrollback: 100_000, allowProposedApi: true });
  }

  /** Every row, the scrolled out ones first, without the empty ones at the end. */
  async rows(): Promise<string[]> {
    const written = writtenText(this.stream);
    if (written !== '') await new Promise<void>((resolve) => this.terminal.write(written, resolve));
    const { active } = this.terminal.buffer;
    const rows = Array.from(
      { length: active.length },
      (_, index) => active.getLine(index)?.translateToString(true) ?? '',
    );
    while (rows.at(-1) === '') rows.pop();
    return rows;
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.rows();
    this.terminal.resize(columns, rows);
    Object.assign(this.stream, { columns, rows });
    this.stream.emit('resize');
  }
}
