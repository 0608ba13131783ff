import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { Workspace } from './workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

export interface SvcEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SvcOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Runs it as this user and group, which only root can. */
  readonly uid?: number;
}

/** What a test is not about must not depend on what its host can contain. Tests of containment take it back. */
const anyHost = { SVC_CONTAINMENT_CEILING: 'advisory' };

/** A running `svc`, with what it has printed so far. */
export class SvcProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<SvcEnd>;
  stdout = '';
  stderr = '';
  #changed: (() => void)[] = [];

  constructor(workspace: Workspace, args: readonly string[], options: SvcOptions = {}) {
    this.child = spawn(process.execPath, [program, ...args], {
      cwd: options.cwd ?? workspace.folder,
      env: { PATH: process.env['PATH'], HOME: workspace.home, ...anyHost, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    });
    this.child.stdout?.on('data', (chunk: Buffer) => this.#note(() => (this.stdout += chunk.toString())));
    this.child.stderr?.on('data', (chunk: Buffer) => this.#note(() => (this.stderr += chunk.toString())));
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
        throw new Error(
          `svc ended (${end.code ?? end.signal}) before it printed ${pattern}:\n${end.stdout}${end.stderr}`,
        );
      }
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  #note(change: () => void): void {
    change();
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}

/** What `svc run --json` printed. */
export interface RunLine {
  readonly url: string;
  readonly pid: number;
  readonly session_id: string;
  readonly name: string;
  readonly version: string;
  readonly workdir: string;
}

/** Runs `svc` to its end. */
export async function svc(workspace: Workspace, args: readonly string[], options?: SvcOptions): Promise<SvcEnd> {
  return await new SvcProcess(workspace, args, options).ended;
}

/** Starts `svc run --json` and waits for its line. */
export async function startCapsule(
  workspace: Workspace,
  args: readonly string[] = [],
  options?: SvcOptions,
): Promise<{ process: SvcProcess; line: RunLine }> {
  const process = new SvcProcess(workspace, ['run', '--json', ...args], options);
  const [line] = await process.printed(/^.*\n/);
  return { process, line: JSON.parse(line) as RunLine };
}

/** One JSON-RPC call to a capsule; the whole answer. */
export async function rpc(url: string, method: string, params?: unknown): Promise<Record<string, unknown>> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params === undefined ? {} : { params }) });
  const response = await fetch(`http://${url}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return (await response.json()) as Record<string, unknown>;
}

/** A message with one text part. */
export function message(text: string, contextId?: string): Record<string, unknown> {
  return {
    message: { messageId: 'm1', role: 'user', parts: [{ text }], ...(contextId === undefined ? {} : { contextId }) },
  };
}
