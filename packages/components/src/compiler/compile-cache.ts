/** Keeps compiled components in the cache of the user, so that each is compiled once. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedDataVersionTag } from 'node:v8';

import type { DriverCode } from '@svc/guest/provider/driver-ports.ts';
import { sha256Hex, sha256Shape } from '@svc/kit/sha256.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { unlessRefusedLater } from '@svc/kit/files/unless-refused.ts';
import { ComponentFault } from '../component.ts';
import { compiledFileName, type Compiler } from './compiler.ts';
import { type InterfaceRefusal, refusedImports, refusedVersions } from '../refused-interfaces.ts';
import { digestOfCode, readTranspiled, seeTranspiled, type SeenTranspiled } from './read-transpiled.ts';
import {
  encodeTranspiled,
  transpiledComponent,
  transpiledFormat,
  type TranspiledComponent,
} from './transpiled-component.ts';

/** Where a component comes from. */
export interface ComponentSource {
  /** For messages: the artifact's name. */
  readonly name: string;
  /** The bytes of `component.wasm`, the file that holds them, or what gets them; read only when the component has to be compiled. */
  readonly wasm: Uint8Array | string | (() => Promise<Uint8Array>);
  /** The hash of those bytes, in lowercase hex. Other bytes are refused. It is null if the caller has checked the bytes. */
  readonly sha256: string | null;
  /** A directory that `compileComponent` wrote for this component. */
  readonly precompiledDir?: string;
  /** Opens what this component was built from and is run in its place, in the process of the host. Only for what comes with the package. */
  readonly code?: () => Promise<DriverCode>;
}

/** A component that is built for interfaces which this host does not have (`E-ART-016`). */
export class InterfacesRefused extends ComponentFault {
  /** The message without what to do. */
  readonly refused: string;
  readonly hint: string;

  constructor(name: string, { reason, hint }: InterfaceRefusal) {
    const refused = `the component of ${name} cannot be used: ${reason}`;
    super('unavailable', `${refused} (E-ART-016): ${hint}`);
    this.refused = refused;
    this.hint = hint;
  }
}

/**
 * Compiled components, kept in `<cache>/components` by content hash, compiler and form. A file appears there whole or not at
 * all; one that is damaged is compiled again. A cache that cannot be written is done without.
 */
export class CompileCache {
  readonly #directory: string;
  readonly #compiler: Compiler;
  readonly #onCompile: (name: string) => void;
  readonly #loading = new Map<string, Promise<TranspiledComponent>>();
  readonly #keeping = new Set<Promise<void>>();

  /** `onCompile` receives the name of a source before it is compiled. */
  constructor(cacheDir: string, compiler: Compiler, onCompile: (name: string) => void = () => {}) {
    this.#directory = join(cacheDir, 'components');
    this.#compiler = compiler;
    this.#onCompile = onCompile;
  }

  /**
   * The compiled component. Asked twice at once it compiles once. Rejects with a `ComponentFault` of kind `unavailable`: also for a component that
   * another `svc` compiled, and whose interfaces this one does not have.
   */
  async load(source: ComponentSource): Promise<TranspiledComponent> {
    const component = await this.#whole(source);
    const refusal = refusalOf(component);
    if (refusal !== null) throw new InterfacesRefused(source.name, refusal);
    return component;
  }

  /**
   * Where the compiled component lies, for a process that reads it there, or the component itself where that is nowhere. Nobody has looked yet
   * whether the file is whole: for one that is not, there is `load`.
   */
  async find(source: ComponentSource): Promise<SeenTranspiled | TranspiledComponent> {
    const seen = seeShipped(source) ?? (await this.#seeKept(source));
    // A refusal is said of a file that was read to its end.
    return seen === null || refusalOf(seen) !== null ? await this.load(source) : seen;
  }

  async #seeKept(source: ComponentSource): Promise<SeenTranspiled | null> {
    const expected = await expectedSha256(source);
    return seeTranspiled(await this.#path(expected), expected);
  }

  async #whole(source: ComponentSource): Promise<TranspiledComponent> {
    const { precompiledDir } = source;
    const shipped =
      precompiledDir === undefined ? null : readTranspiled(join(precompiledDir, compiledFileName), source.sha256);
    if (shipped !== null) return shipped;
    const expected = await expectedSha256(source);
    const running = this.#loading.get(expected);
    if (running !== undefined) return running;
    const loading = this.#load(source, expected).finally(() => this.#loading.delete(expected));
    this.#loading.set(expected, loading);
    return loading;
  }

  async #load(source: ComponentSource, expected: string): Promise<TranspiledComponent> {
    const path = await this.#path(expected);
    const cached = readTranspiled(path, expected);
    if (cached !== null) return cached;
    const component = await componentBytes(source);
    if (sha256Hex(component) !== expected) {
      throw unavailable(source, 'its bytes do not have the expected SHA-256');
    }
    this.#onCompile(source.name);
    const answer = await this.#compiler.compile(component);
    if (answer.kind === 'refused') {
      const { reason, hint } = answer;
      throw hint === undefined ? unavailable(source, reason) : new InterfacesRefused(source.name, { reason, hint });
    }
    const transpiled = transpiledComponent(expected, answer);
    await keep(path, [encodeTranspiled(transpiled)]);
    return transpiled;
  }

  async #path(componentSha256: string): Promise<string> {
    const maker = sha256Hex(`${await this.#compiler.identity()}\n${transpiledFormat}`);
    return join(this.#directory, `${componentSha256}-${maker.slice(0, 16)}.compiled`);
  }

  /** Keeps what the engine made of a glue, in the background; `settled` waits for that. */
  keepCode(glueSha256: string, code: Uint8Array): void {
    const chunks = [digestOfCode(code), code];
    const keeping = keep(this.codePath(glueSha256), chunks, false).finally(() => this.#keeping.delete(keeping));
    this.#keeping.add(keeping);
  }

  /** Once nothing is being written any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#keeping);
  }

  /** Where it lies, if there is any. */
  codePath(glueSha256: string): string {
    const engine = `${process.version}-${process.arch}-${cachedDataVersionTag()}`;
    return join(this.#directory, `${glueSha256.slice(0, 32)}-${engine}.code`);
  }
}

/** Reads the head of a component that was compiled ahead. Returns null if the source has none. */
function seeShipped({ precompiledDir, sha256 }: ComponentSource): SeenTranspiled | null {
  return precompiledDir === undefined ? null : seeTranspiled(join(precompiledDir, compiledFileName), sha256);
}

function refusalOf({
  imports,
  interfaces,
}: Pick<TranspiledComponent, 'imports' | 'interfaces'>): InterfaceRefusal | null {
  return refusedVersions({ imports: interfaces, exports: [] }) ?? refusedImports(imports, interfaces);
}

async function expectedSha256(source: ComponentSource): Promise<string> {
  const expected = source.sha256 ?? sha256Hex(await componentBytes(source));
  if (!sha256Shape.test(expected)) throw unavailable(source, 'its SHA-256 is malformed');
  return expected;
}

async function componentBytes(source: ComponentSource): Promise<Uint8Array> {
  if (typeof source.wasm === 'function') return await bytesOf(source, source.wasm);
  const { wasm } = source;
  if (typeof wasm !== 'string') return wasm;
  const bytes = await unlessRefusedLater(async () => await readFile(wasm), null);
  if (bytes === null) throw unavailable(source, `${wasm} cannot be read`);
  return bytes;
}

/** What cannot be got is no bug: the artifact is damaged or gone since it was resolved. */
async function bytesOf(source: ComponentSource, get: () => Promise<Uint8Array>): Promise<Uint8Array> {
  try {
    return await get();
  } catch (error) {
    if (error instanceof Diagnostic) throw unavailable(source, error.message);
    throw error;
  }
}

/** A cache is a convenience: on a full or read-only disk the work is done again next time. */
async function keep(path: string, chunks: readonly Uint8Array[], isDurable = true): Promise<void> {
  try {
    await replaceFile(path, chunks, { isDurable });
  } catch (error) {
    if (!(error instanceof Diagnostic && error.code === 'E-IO-001')) throw error;
  }
}

function unavailable(source: ComponentSource, reason: string): ComponentFault {
  return new ComponentFault('unavailable', `the component of ${source.name} cannot be used: ${reason}`);
}
