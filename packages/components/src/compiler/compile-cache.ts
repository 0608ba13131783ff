/** Keeps compiled components in the cache of the user, so that each is compiled once. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { cachedDataVersionTag } from 'node:v8';

import type { DriverCode } from '@svc/guest/provider/driver-ports.ts';
import { sha256Hex, sha256Shape } from '@svc/kit/sha256.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { ComponentFault } from '../component.ts';
import { compiledFileName, type Compiler } from './compiler.ts';
import { type InterfaceRefusal, refusedImports, refusedVersions } from '../refused-interfaces.ts';
import { readOrNull, readTranspiled } from './read-transpiled.ts';
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
  /** Of those bytes, lowercase hex. Other bytes are refused. Is null when their giver has checked them. */
  readonly sha256: string | null;
  /** A directory that `compileComponent` wrote for this component. */
  readonly precompiledDir?: string;
  /** Opens what this component was built from and is run in its place, in the process of the host. Only for what comes with the package. */
  readonly code?: () => Promise<DriverCode>;
}

const digestBytes = 32;

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
    const component = await this.#find(source);
    const { imports, interfaces } = component;
    const refusal = refusedVersions({ imports: interfaces, exports: [] }) ?? refusedImports(imports, interfaces);
    if (refusal !== null) throw new InterfacesRefused(source.name, refusal);
    return component;
  }

  async #find(source: ComponentSource): Promise<TranspiledComponent> {
    if (source.precompiledDir !== undefined) {
      const shipped = await readTranspiled(join(source.precompiledDir, compiledFileName), source.sha256);
      if (shipped !== null) return shipped;
    }
    const expected = source.sha256 ?? sha256Hex(await componentBytes(source));
    if (!sha256Shape.test(expected)) throw unavailable(source, 'its SHA-256 is malformed');
    const running = this.#loading.get(expected);
    if (running !== undefined) return running;
    const loading = this.#load(source, expected).finally(() => this.#loading.delete(expected));
    this.#loading.set(expected, loading);
    return loading;
  }

  async #load(source: ComponentSource, expected: string): Promise<TranspiledComponent> {
    const path = join(this.#directory, await this.#fileName(expected));
    const cached = await readTranspiled(path, expected);
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

  async #fileName(componentSha256: string): Promise<string> {
    const maker = digest(Buffer.from(`${await this.#compiler.identity()}\n${transpiledFormat}`));
    return `${componentSha256}-${maker.toString('hex', 0, 8)}.compiled`;
  }

  /** What this engine made of the glue in an earlier run; null if that is missing or damaged. */
  async codeCache({ glueSha256 }: TranspiledComponent): Promise<Uint8Array | null> {
    const file = await readOrNull(this.#codeCachePath(glueSha256));
    if (file === null || file.length < digestBytes) return null;
    // The engine trusts these bytes, so that what was cut short or altered must not reach it.
    const data = file.subarray(digestBytes);
    return digest(data).equals(file.subarray(0, digestBytes)) ? data : null;
  }

  /** Keeps it in the background; `settled` waits for that. */
  keepCodeCache(glueSha256: string, data: Uint8Array): void {
    const path = this.#codeCachePath(glueSha256);
    const keeping = keep(path, [digest(data), data]).finally(() => this.#keeping.delete(keeping));
    this.#keeping.add(keeping);
  }

  /** Once nothing is being written any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#keeping);
  }

  #codeCachePath(glueSha256: string): string {
    const engine = `${process.version}-${process.arch}-${cachedDataVersionTag()}`;
    return join(this.#directory, `${glueSha256.slice(0, 32)}-${engine}.code`);
  }
}

async function componentBytes(source: ComponentSource): Promise<Uint8Array> {
  if (typeof source.wasm === 'function') return await bytesOf(source, source.wasm);
  if (typeof source.wasm !== 'string') return source.wasm;
  const bytes = await readOrNull(source.wasm);
  if (bytes === null) throw unavailable(source, `${source.wasm} cannot be read`);
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
async function keep(path: string, chunks: readonly Uint8Array[]): Promise<void> {
  try {
    await replaceFile(path, chunks);
  } catch (error) {
    if (!(error instanceof Diagnostic && error.code === 'E-IO-001')) throw error;
  }
}

function unavailable(source: ComponentSource, reason: string): ComponentFault {
  return new ComponentFault('unavailable', `the component of ${source.name} cannot be used: ${reason}`);
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
