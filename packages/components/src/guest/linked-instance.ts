/** Links the core modules of a component into one instance that can be called. */

import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';

import type { Imports } from './named-imports.ts';
import { lifting } from './lifting.ts';
import { bytesInUse, countMemory } from './retained.ts';
import type { CoreModule } from '../compiler/transpiled-component.ts';
import { allowExtendedConst } from '../extended-const.ts';
import { capGrowth } from '../growth-cap.ts';

/** Allocators ask for more than the byte they lack. */
const nearlyFull = 0.9;
/** Core modules; each has tables and memories of the engine's own. */
const maxInstances = 1_000;

/**
 * The loop of an interpreter, in a component made of JavaScript or Python. The engine takes 85 ms of a processor to optimize one of 37 KB, and begins
 * with that in the first call of a tool; a call takes 25 ms, which optimized code shortens little. It waits until the function has run for about as long.
 */
const longFunctionBytes = 16 * 1024;
/** In the engine's own measure, the bytes of code that a function has run; it would begin after 1,800,000. */
const longBudget = 100_000_000;

type Link = (
  module: (name: string) => WebAssembly.Module,
  imports: Imports,
  instantiate: (
    module: WebAssembly.Module,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ) => WebAssembly.Instance,
) => Readonly<Record<string, unknown>>;

interface LinkOptions {
  readonly glue: string;
  readonly modules: readonly LinkedModule[];
  readonly maxMemoryBytes: number;
  /** From an earlier run of the same glue in the same engine. */
  readonly codeCache: Uint8Array | null;
}

/** A linked component: its exports, and what is known of its memory. */
export interface LinkedInstance {
  readonly exports: Readonly<Record<string, unknown>>;
  /** Whether its memories, and what is kept for it beside them, have grown about as far as they may. */
  memoryIsFull(): boolean;
  /** The engine's code for the glue as far as it has run. */
  codeCache(): Uint8Array;
  readonly codeCacheUsed: boolean;
}

/** Runs the glue, which makes the core modules into instances and gives the component's exports. The guest's start code runs here. */
export function linkInstance(
  { glue, modules: given, maxMemoryBytes, codeCache }: LinkOptions,
  imports: Imports,
): LinkedInstance {
  offerPromising();
  const script = new Script(glue, {
    filename: 'component-glue.js',
    ...(codeCache === null
      ? {}
      : { cachedData: Buffer.from(codeCache.buffer, codeCache.byteOffset, codeCache.length) }),
  });
  const link = (script.runInThisContext() as (counting: typeof lifting) => Link)(lifting);
  const modules = new Map(given.map((entry) => [entry.name, entry]));
  const made = new Set<LinkedModule>();
  let instances = 0;
  const exports = link(
    (name) => find(modules, name).module,
    imports,
    (module, coreImports) => {
      instances += 1;
      if (instances > maxInstances) throw new Error(`it makes more than ${maxInstances} instances of its modules`);
      const entry = given.find((candidate) => candidate.module === module);
      if (entry?.grows === true) {
        if (made.has(entry)) throw new Error('it makes a module that has memory into more than one instance');
        made.add(entry);
      }
      const instance = new WebAssembly.Instance(module, coreImports);
      for (const value of Object.values(instance.exports)) if (value instanceof WebAssembly.Memory) countMemory(value);
      return instance;
    },
  );
  return {
    exports,
    memoryIsFull: () => bytesInUse() >= maxMemoryBytes * nearlyFull,
    codeCache: () => script.createCachedData(),
    codeCacheUsed: codeCache !== null && script.cachedDataRejected !== true,
  };
}

/**
 * The glue tries this function on what it finds and goes on with the original where the engine has none. Each failed try
 * makes the engine read the whole glue again to word the error, 4 ms a time: so there always is one that gives the original.
 */
function offerPromising(): void {
  if (!Reflect.has(WebAssembly, 'promising')) Reflect.set(WebAssembly, 'promising', (original: unknown) => original);
}

function find(modules: ReadonlyMap<string, LinkedModule>, name: string): LinkedModule {
  const entry = modules.get(name);
  if (entry === undefined) throw new Error(`the compiled component has no core module ${name}`);
  return entry;
}

export interface LinkedModule extends Pick<CoreModule, 'name'> {
  readonly module: WebAssembly.Module;
  /** Whether it defines memories or tables. Such a module is made into an instance once only. */
  readonly grows: boolean;
}

/** The core modules as the engine reads them, held to what they may grow to. Throws an error that says why one cannot be used. */
export function compileModules(modules: readonly CoreModule[], maxMemoryBytes: number): readonly LinkedModule[] {
  allowExtendedConst();
  const outcome = capGrowth(
    modules.map(({ bytes }) => bytes),
    maxMemoryBytes,
  );
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  if (outcome.maxFunction > longFunctionBytes) setFlagsFromString(`--wasm-tiering-budget=${longBudget}`);
  return outcome.modules.map(({ bytes, grows }, index) => ({
    name: modules[index]?.name ?? '',
    module: new WebAssembly.Module(bytes),
    grows,
  }));
}
