import { readdirSync, readFileSync } from 'node:fs';

import { unlessErrno } from '@svc/kit/files/unless-refused.ts';

let made = 0;

/** Commands that sleep for hours, each with a number of its own by which the host knows it. */
export class MarkedProcesses {
  readonly #mark = `${process.pid}${(made += 1)}`;

  /** A command line that sleeps; `name` is a digit. */
  sleep(name: number): string {
    return `sleep 9000${name}.${this.#mark}`;
  }

  /** The names of those that run, sorted, and of the programs that have to start one: `bash of 3`. */
  running(): readonly string[] {
    return this.#found().map(({ name }) => name);
  }

  /** Waits until the expected processes run, and returns those that run then. If that never happens, returns those that run in the end. */
  async settled(expected: readonly string[]): Promise<readonly string[]> {
    for (let tries = 0; tries < 1000; tries += 1) {
      if (this.running().join() === expected.join()) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return this.running();
  }

  /** Ends those that a class lets live. */
  end(): void {
    for (const { pid } of this.#found()) unlessErrno(['ESRCH'], () => process.kill(pid, 'SIGKILL'), false);
  }

  #found(): readonly { readonly pid: number; readonly name: string }[] {
    const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
    const found = pids.flatMap((pid) => {
      const [, name] = new RegExp(`9000(\\d)\\.${this.#mark}`).exec(commandLineOf(pid)) ?? [];
      return name === undefined ? [] : [{ pid: Number(pid), name: nameOf(pid, name) }];
    });
    return found.sort((one, other) => (one.name < other.name ? -1 : 1));
  }
}

/** Empty for one that has ended, whether or not somebody has taken note. */
function commandLineOf(pid: string): string {
  return read(`/proc/${pid}/cmdline`);
}

function nameOf(pid: string, name: string): string {
  // Newer versions of Node name their main thread.
  const program = read(`/proc/${pid}/comm`)
    .trim()
    .replace(/^(?:node-)?MainThread$/, 'node');
  return program === 'sleep' ? name : `${program} of ${name}`;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}
