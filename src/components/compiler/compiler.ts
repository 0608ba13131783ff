import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isSystemError } from '../../diagnostics/system-reason.ts';
import { NodeProcess } from '../node-process.ts';
import type { CompilerAnswer } from './compiler-messages.ts';

const compileLimitMs = 120_000;
const largestComponent = 128 * 1024 * 1024;
/** The script and the modules of the largest component. */
const largestAnswer = 512 * 1024 * 1024;
const heapMegabytes = 1_024;
const otherMegabytes = 2_048;
/** Of a component; a core module has another layer number behind the same four bytes. */
const preamble = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]);

/** The compiler inside the package, in `dist/compiler`. Nothing of it is read before it is asked for. */
export class Compiler {
  readonly #directory: string;
  readonly #running = new Set<() => Promise<void>>();

  constructor(packageRoot: string) {
    this.#directory = join(packageRoot, 'dist', 'compiler');
  }

  /** Its name and version: what it writes is kept apart from what another would write. */
  async identity(): Promise<string> {
    const text = await readFile(join(this.#directory, 'compiler.json'), 'utf8');
    return (JSON.parse(text) as { readonly identity: string }).identity;
  }

  /** Compiles in a process of its own, which takes a second or so. Never rejects for what a component is or makes the compiler do. */
  async compile(component: Uint8Array): Promise<CompilerAnswer> {
    if (!preamble.equals(component.subarray(0, preamble.length))) return refused('it is not a WebAssembly component');
    if (component.length > largestComponent) return refused('it is larger than 128 MiB');
    try {
      return await this.#compileApart(component);
    } catch (error) {
      if (isSystemError(error)) return refused(`the compiler cannot be started: ${error.message}`);
      throw error;
    }
  }

  async #compileApart(component: Uint8Array): Promise<CompilerAnswer> {
    let settle: (answer: CompilerAnswer) => void = () => {};
    const answered = new Promise<CompilerAnswer>((resolve) => {
      settle = resolve;
    });
    const compiling = new NodeProcess({
      script: join(this.#directory, 'compiler-process.mjs'),
      heapMegabytes,
      otherMegabytes,
      maxFrameBytes: largestAnswer,
      onMessage: (message) => settle(message as CompilerAnswer),
      onEnd: ({ reason }) => settle(refused(`the compiler failed: ${reason}`)),
    });
    const stop = async (): Promise<void> => {
      settle(refused('compiling it took too long or was ended'));
      await compiling.end();
    };
    this.#running.add(stop);
    const timer = setTimeout(() => void stop(), compileLimitMs);
    compiling.hold();
    compiling.send(component);
    try {
      return await answered;
    } finally {
      clearTimeout(timer);
      this.#running.delete(stop);
      await compiling.end();
    }
  }

  /** Ends what is being compiled. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((stop) => stop()));
  }
}

function refused(reason: string): CompilerAnswer {
  return { kind: 'refused', reason };
}
