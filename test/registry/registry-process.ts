import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { onTestFinished } from 'vitest';

import { key } from './registry-kit.ts';

const program = fileURLToPath(new URL('../../bin/svc-registry.cjs', import.meta.url));

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `svc-registry`. It has nothing in its environment but what is given. */
export class RegistryProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<ProgramEnd>;
  stdout = '';
  stderr = '';
  #changed: (() => void)[] = [];

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}, from: string = program) {
    this.child = spawn(process.execPath, [from, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout?.on('data', (chunk: Buffer) => this.#note(() => (this.stdout += chunk.toString())));
    this.child.stderr?.on('data', (chunk: Buffer) => this.#note(() => (this.stderr += chunk.toString())));
    this.ended = once(this.child, 'close').then(([code, signal]) => {
      this.#note(() => {});
      const { stdout, stderr } = this;
      return { code: code as number | null, signal: signal as NodeJS.Signals | null, stdout, stderr };
    });
  }

  /** Resolves with the first match in what was printed; rejects when the process ends without it. */
  async printed(output: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this[output]);
      if (match !== null) return match;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        const end = await this.ended;
        const last = pattern.exec(end[output]);
        if (last !== null) return last;
        throw new Error(`svc-registry ended without ${pattern}:\n${end.stdout}${end.stderr}`);
      }
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  #note(change: () => void): void {
    change();
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}

/** Runs it to its end. */
export async function runRegistry(args: readonly string[], env: Readonly<Record<string, string>>): Promise<ProgramEnd> {
  return await new RegistryProcess(args, env).ended;
}

/** One that serves a data directory, on a free port unless one is given. It is killed after the test. */
export async function startRegistry(
  data: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly process: RegistryProcess; readonly port: number }> {
  const process = new RegistryProcess(['--data', data], {
    REGISTRY_API_KEY: key,
    REGISTRY_BIND: '127.0.0.1:0',
    ...env,
  });
  onTestFinished(() => void process.child.kill('SIGKILL'));
  const [, port] = await process.printed('stderr', /listens on http:\/\/\S+:(\d+), /);
  return { process, port: Number(port) };
}
