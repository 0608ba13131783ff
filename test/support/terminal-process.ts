/** Starts svc on a terminal, types into it and reads what it shows. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { TerminalModel } from './terminal-model.ts';
import type { Workspace } from './workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

/** A terminal shows what stands between these two at once, however it comes. */
const frameStart = '\u001B[?2026h';
const frameEnd = '\u001B[?2026l';

/**
 * Runs a program on a pseudo-terminal of its own and copies what that shows; a signal is passed on. Lines of JSON from standard input are done to
 * the terminal, and lines with its modes go to descriptor 3: at the start, when they are asked for, and once the program has ended.
 */
const onPseudoTerminal = `
import fcntl, json, os, pty, select, signal, struct, sys, termios
columns, arguments = int(sys.argv[1]), sys.argv[2:]
begun, begin = os.pipe()
pid, terminal = pty.fork()
if pid == 0:
    os.read(begun, 1)
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    os.execvp(arguments[0], arguments)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda received, frame: os.kill(pid, received))
def tell_modes():
    modes = [mode if isinstance(mode, int) else [str(key) for key in mode] for mode in termios.tcgetattr(terminal)]
    try:
        os.write(3, (json.dumps(modes) + '\\n').encode())
    except OSError:
        pass
def do(act):
    if 'type' in act:
        os.write(terminal, act['type'].encode())
    if 'resize' in act:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', act['resize'][1], act['resize'][0], 0, 0))
    if 'signal' in act:
        os.kill(pid, getattr(signal, act['signal']))
    if 'modes' in act:
        tell_modes()
tell_modes()
os.write(begin, b'x')
asked, heard = b'', [terminal, 0]
while True:
    ready = select.select(heard, [], [])[0]
    if 0 in ready:
        piece = os.read(0, 65536)
        if not piece:
            heard.remove(0)
        *acts, asked = (asked + piece).split(b'\\n')
        for act in acts:
            do(json.loads(act))
    if terminal not in ready:
        continue
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    if not shown:
        break
    sys.stdout.buffer.write(shown)
    sys.stdout.buffer.flush()
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
tell_modes()
sys.exit(status % 256)
`;

/** Leaves out a sequence whose end has not come. */
function withoutBegun(text: string): string {
  const at = text.lastIndexOf('\u001B');
  const isBegun = at !== -1 && /^(?:\[[0-?]*[ -/]*)?$/.test(text.slice(at + 1));
  return isBegun ? text.slice(0, at) : text;
}

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
  /** What runs instead of `svc`. */
  readonly command?: readonly string[];
}

/** A running `svc`, or another program, whose standard streams are a terminal. */
export class TerminalProcess {
  readonly child: ChildProcess;
  /** Every byte that the terminal was sent. */
  raw = '';
  readonly #columns: number;
  #changed: (() => void)[] = [];
  #searched = 0;
  /** Everything that it was sent has come: the process ends before. */
  #isClosed = false;
  /** The modes of the terminal, each time that they were set. */
  readonly modes: string[] = [];
  readonly ended: Promise<number | null>;

  constructor(
    workspace: Workspace,
    args: readonly string[],
    { columns = 80, env, cwd, command = [process.execPath, program] }: TerminalOptions = {},
  ) {
    this.#columns = columns;
    this.child = spawn('python3', ['-c', onPseudoTerminal, String(columns), ...command, ...args], {
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
      stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.raw += text;
      this.#wake();
    });
    let told = '';
    (this.child.stdio[3] as Readable).setEncoding('utf8').on('data', (text: string) => {
      const lines = (told + text).split('\n');
      told = lines.pop() ?? '';
      this.modes.push(...lines);
      this.#wake();
    });
    // The program may end before it reads.
    this.child.stdin?.on('error', () => {});
    this.ended = once(this.child, 'close').then(([code]) => {
      this.#isClosed = true;
      this.#wake();
      return code as number | null;
    });
  }

  #wake(): void {
    for (const resolve of this.#changed.splice(0)) resolve();
  }

  type(keys: string): void {
    this.#do({ type: keys });
  }

  resize(columns: number, rows: number): void {
    this.#do({ resize: [columns, rows] });
  }

  /** Sends a signal to the program, and to none that it has started. */
  signal(name: NodeJS.Signals): void {
    this.#do({ signal: name });
  }

  /** The modes of the terminal, now. */
  async askModes(): Promise<string> {
    const known = this.modes.length;
    this.#do({ modes: true });
    while (this.modes.length === known) await this.#change('its modes were told');
    return this.modes.at(-1)!;
  }

  #do(act: object): void {
    this.child.stdin?.write(`${JSON.stringify(act)}\n`);
  }

  /** Resolves with the match once the terminal was sent it, behind what was waited for before. */
  async sends(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.raw.slice(this.#searched));
      if (match !== null) {
        this.#searched += match.index + match[0].length;
        return match;
      }
      await this.#change(`${pattern} was sent`);
    }
  }

  async #change(what: string): Promise<void> {
    if (this.#isClosed) throw new Error(`the program ended before ${what}:\n${this.raw}`);
    await new Promise<void>((resolve) => this.#changed.push(resolve));
  }

  /** What the terminal shows, scrolled out rows included, without blanks at the ends; of a frame that has come in part, nothing. */
  get terminal(): TerminalModel {
    const model = new TerminalModel(this.#columns);
    const begun = this.raw.lastIndexOf(frameStart);
    const isWhole = begun < 0 || this.raw.includes(frameEnd, begun);
    const whole = isWhole ? this.raw : this.raw.slice(0, begun);
    model.write(this.#isClosed ? whole : withoutBegun(whole));
    return model;
  }

  /** Resolves with the rows once one of them matches. */
  async shows(pattern: RegExp): Promise<readonly string[]> {
    for (;;) {
      const { rows } = this.terminal;
      if (rows.some((row) => pattern.test(row))) return rows;
      await this.#change(`${pattern} was shown`);
    }
  }

  /** Resolves once the last row matches, which is where a person types. */
  async endsWith(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.terminal.rows.at(-1) ?? '')) await this.#change(`${pattern} was shown at the end`);
  }
}
