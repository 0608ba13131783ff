import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { allowExtendedConst } from '../extended-const.ts';
import type { CompilerAnswer } from './compiler-messages.ts';

const compileLimitMs = 120_000;
const largestComponent = 128 * 1024 * 1024;
/** Of a component; a core module has another layer number behind the same four bytes. */
const preamble = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]);

/** The compiler inside the package, in `dist/compiler`. Nothing of it is read before it is asked for. */
export class Compiler {
  readonly #directory: string;
  readonly #running = new Set<Worker>();

  constructor(packageRoot: string) {
    this.#directory = join(packageRoot, 'dist', 'compiler');
  }

  /** Its name and version: what it writes is kept apart from what another would write. */
  async identity(): Promise<string> {
    const text = await readFile(join(this.#directory, 'compiler.json'), 'utf8');
    return (JSON.parse(text) as { readonly identity: string }).identity;
  }

  /** Compiles in a thread of its own, since it takes a second or so. Never rejects for what a component is. */
  async compile(component: Uint8Array): Promise<CompilerAnswer> {
    if (!preamble.equals(component.subarray(0, preamble.length))) {
      return { kind: 'refused', reason: 'it is not a WebAssembly component' };
    }
    if (component.length > largestComponent) return { kind: 'refused', reason: 'it is larger than 128 MiB' };
    allowExtendedConst();
    const thread = new Worker(join(this.#directory, 'compiler-thread.mjs'), {
      workerData: component,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
    });
    this.#running.add(thread);
    const timer = setTimeout(() => void thread.terminate(), compileLimitMs);
    try {
      return await answerOf(thread);
    } finally {
      clearTimeout(timer);
      this.#running.delete(thread);
      await thread.terminate();
    }
  }

  /** Ends what is being compiled. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((thread) => thread.terminate()));
  }
}

async function answerOf(thread: Worker): Promise<CompilerAnswer> {
  return new Promise((resolve) => {
    thread.once('message', resolve);
    thread.once('error', (error) => resolve({ kind: 'refused', reason: `the compiler failed: ${error.message}` }));
    thread.once('exit', () => resolve({ kind: 'refused', reason: 'compiling it took too long or was ended' }));
  });
}
