/** Has components compiled, each in a process of its own: when they are first used, or when `svc` is built. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { largestComponent, largestComponentShown } from '@svc/artifacts/store/archive-entry.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { NodeProcess } from '../node-process.ts';
import {
  type ArchiveBeside,
  type CompilerAnswer,
  encodeTranspiled,
  transpiledComponent,
} from './transpiled-component.ts';

/** At once: each takes a core and up to 3 GiB. */
const maxAtOnce = 2;
/** From when it begins; the wait for others is theirs. */
const compileLimitMs = 120_000;
/** The script and the modules of the largest component. */
const largestAnswer = 512 * 1024 * 1024;
const heapMegabytes = 1_024;
const otherMegabytes = 2_048;
/** The first bytes of a component. A core module has another layer number behind the same four bytes. */
const preamble = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]);

/** The compiler inside the package, in `dist/compiler`. Nothing of it is read before it is asked for. */
export class Compiler {
  readonly #directory: string;
  readonly #running = new Set<() => Promise<void>>();
  /** Called with true when a waiting one begins, with false if it never will. */
  readonly #waiting: ((begins: boolean) => void)[] = [];
  #begun = 0;

  constructor(packageRoot: string) {
    this.#directory = join(packageRoot, 'dist', 'compiler');
  }

  /** Its name and version: what it writes is kept apart from what another would write. */
  async identity(): Promise<string> {
    const text = await readFile(join(this.#directory, 'compiler.json'), 'utf8');
    return (JSON.parse(text) as { readonly identity: string }).identity;
  }

  /**
   * Compiles in a process of its own, which takes a second or so; a third waits for one of two. Never rejects for what a component is or makes the
   * compiler do.
   */
  async compile(component: Uint8Array): Promise<CompilerAnswer> {
    if (!preamble.equals(component.subarray(0, preamble.length))) return refused('it is not a WebAssembly component');
    if (component.length > largestComponent) return refused(`it is larger than ${largestComponentShown}`);
    if (!(await this.#turn())) return refused(ended);
    try {
      return await this.#compileApart(component);
    } catch (error) {
      if (isSystemError(error)) return refused(`the compiler cannot be started: ${error.message}`);
      throw error;
    } finally {
      this.#endTurn();
    }
  }

  /** False when everything was ended meanwhile. */
  async #turn(): Promise<boolean> {
    if (this.#begun < maxAtOnce) {
      this.#begun += 1;
      return true;
    }
    return await new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Hands the place on. */
  #endTurn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#begun -= 1;
    else next(true);
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
      maxMessageBytes: largestAnswer,
      onMessage: (message) => settle(message as CompilerAnswer),
      onEnd: ({ reason }) => settle(refused(`the compiler failed: ${reason}`)),
    });
    const stop = async (): Promise<void> => {
      settle(refused(ended));
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

  /** Ends what is being compiled, and what waits for that. */
  async close(): Promise<void> {
    for (const tell of this.#waiting.splice(0)) tell(false);
    await Promise.all([...this.#running].map((stop) => stop()));
  }
}

const ended = 'compiling it took too long or was ended';

function refused(reason: string): CompilerAnswer {
  return { kind: 'refused', reason };
}

/** The one file of a directory of compiled form; `precompiledDir` of a component source names the directory. */
export const compiledFileName = 'component.compiled';

/** What is done with a component that is compiled ahead, so that it takes less room where it is kept. */
interface AheadOptions {
  /** Makes a shorter script of the one that links it. */
  readonly shorten?: (glue: string) => Promise<string>;
  /** Will lie beside `directory`: its core modules are read from there. */
  readonly archive?: ArchiveBeside;
}

/**
 * Compiles a component ahead of its first use and writes `component.compiled` into `directory`, which is made when missing.
 * Rejects with a plain `Error` that says what is wrong with the component, and with `E-IO-001` when the file cannot be written.
 */
export async function compileComponent(
  component: Uint8Array,
  directory: string,
  { shorten = async (glue) => glue, archive }: AheadOptions = {},
): Promise<void> {
  const answer = await new Compiler(findPackageRoot(import.meta.filename)).compile(component);
  if (answer.kind === 'refused') throw new Error(`the component cannot be compiled: ${answer.reason}`);
  const shortened = { ...answer, glue: await shorten(answer.glue) };
  const file = encodeTranspiled(transpiledComponent(sha256Hex(component), shortened), archive);
  await replaceFile(join(directory, compiledFileName), [file]);
}
