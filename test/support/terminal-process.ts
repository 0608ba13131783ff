import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { TerminalModel } from './terminal-model.ts';
import type { Workspace } from './workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

/** Runs a program on a pseudo-terminal of its own and copies what that shows; a signal is passed on. */
const onPseudoTerminal = `
import fcntl, os, pty, select, signal, struct, sys, termios
columns, arguments = int(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    os.execvp(arguments[0], arguments)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda received, frame: os.kill(pid, received))
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    if not shown:
        break
    sys.stdout.buffer.write(shown)
    sys.stdout.buffer.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
`;

/** Whether pseudo-terminals can be made here: by python3, which most systems have. */
export function hasPseudoTerminals(): boolean {
  try {
    execFileSync('python3', ['-c', 'import pty, os; os.waitstatus_to_exitcode'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export interface TerminalOptions {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A running `svc` whose standard streams are a terminal. */
export class TerminalProcess {
  readonly child: ChildProcess;
  /** Every byte that the terminal was sent. */
  raw = '';
  readonly #columns: number;
  #changed: (() => void)[] = [];
  readonly ended: Promise<number | null>;

  constructor(workspace: Workspace, args: readonly string[], { columns = 80, env, cwd }: TerminalOptions = {}) {
    this.#columns = columns;
    this.child = spawn('python3', ['-c', onPseudoTerminal, String(columns), process.execPath, program, ...args], {
      cwd: cwd ?? workspace.folder,
      env: {
        PATH: process.env['PATH'],
        HOME: workspace.home,
        TERM: 'xterm-256color',
        LANG: 'C.UTF-8',
        NO_COLOR: '1',
        SVC_CONTAINMENT_CEILING: 'advisory',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.raw += text;
      for (const resolve of this.#changed.splice(0)) resolve();
    });
    this.ended = once(this.child, 'close').then(([code]) => {
      for (const resolve of this.#changed.splice(0)) resolve();
      return code as number | null;
    });
  }

  /** What the terminal shows, scrolled out rows included, without blanks at the ends. */
  get terminal(): TerminalModel {
    const model = new TerminalModel(this.#columns);
    model.write(this.raw);
    return model;
  }

  /** Resolves with the rows once one of them matches. */
  async shows(pattern: RegExp): Promise<readonly string[]> {
    for (;;) {
      const { rows } = this.terminal;
      if (rows.some((row) => pattern.test(row))) return rows;
      if (this.child.exitCode !== null) throw new Error(`svc ended before ${pattern} was shown:\n${rows.join('\n')}`);
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }
}
