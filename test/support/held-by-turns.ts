/** Counts what a process keeps open over many turns. */

import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const counter = fileURLToPath(new URL('count-listeners.cjs', import.meta.url));

/** What a process holds at most over some turns. */
export interface Held {
  /** How many of each kind: `pipe`, `socket`, and the rest as one. */
  pipes: number;
  sockets: number;
  others: number;
  /** Listeners on anything that is in use, and the heap, both after a collection; the memory as the kernel counts it. */
  listeners: number;
  heapBytes: number;
  residentBytes: number;
}

/** Looks at a program while its model is asked, turn after turn. */
export class HeldByTurns {
  readonly early: Held = nothing();
  readonly late: Held = nothing();
  readonly #turns: number;
  readonly #file: string;

  constructor(turns: number, folder: string) {
    this.#turns = turns;
    this.#file = join(folder, 'listeners.json');
  }

  /** For the program that is looked at. */
  get env(): Readonly<Record<string, string>> {
    return { NODE_OPTIONS: `--require=${counter}`, LISTENERS_FILE: this.#file };
  }

  /** Descriptors are counted each turn, the rest at each quarter: the first half is early, the second late. */
  async look(pid: number, turn: number): Promise<void> {
    if (turn > this.#turns) return;
    const held = turn <= this.#turns / 2 ? this.early : this.late;
    keepMost(held, descriptorsOf(pid));
    if (turn % Math.floor(this.#turns / 4) === 0) keepMost(held, await this.#memoryOf(pid));
  }

  async #memoryOf(pid: number): Promise<Partial<Held>> {
    rmSync(this.#file, { force: true });
    process.kill(pid, 'SIGUSR2');
    while (!existsSync(this.#file)) await setTimeout(5);
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const counted = JSON.parse(readFileSync(this.#file, 'utf8')) as Pick<Held, 'listeners' | 'heapBytes'>;
    return { ...counted, residentBytes: Number(resident) * 1024 };
  }
}

function nothing(): Held {
  return { pipes: 0, sockets: 0, others: 0, listeners: 0, heapBytes: 0, residentBytes: 0 };
}

function keepMost(held: Held, seen: Partial<Held>): void {
  for (const key of Object.keys(seen) as (keyof Held)[]) held[key] = Math.max(held[key], seen[key] ?? 0);
}

function descriptorsOf(pid: number): Partial<Held> {
  const folder = `/proc/${pid}/fd`;
  const count = { pipes: 0, sockets: 0, others: 0 };
  for (const name of readdirSync(folder)) {
    const target = targetOf(join(folder, name));
    if (target === null) continue;
    if (target.startsWith('pipe:')) count.pipes += 1;
    else if (target.startsWith('socket:')) count.sockets += 1;
    else count.others += 1;
  }
  return count;
}

/** Returns null for one that was closed since the folder was listed. */
function targetOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}
