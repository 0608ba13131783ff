import { ComponentFault } from './component.ts';
import type { TranspiledComponent } from './compiler/transpiled-component.ts';
import type { LinkedModule } from './exchange.ts';
import { allowExtendedConst } from './extended-const.ts';
import { capMemories } from './memory-cap.ts';
import { MalformedWasm } from './wasm-reader.ts';

/** Core modules as the engine compiled them, once for each content and memory cap; every instance shares them. */
export class ModuleCache {
  readonly #compiled = new Map<string, Promise<readonly LinkedModule[]>>();

  /** Rejects with a `ComponentFault` of kind `unavailable` when the modules are malformed or need more memory than that. */
  async load(transpiled: TranspiledComponent, maxMemoryBytes: number): Promise<readonly LinkedModule[]> {
    const key = `${transpiled.componentSha256} ${maxMemoryBytes}`;
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const compiling = compileModules(transpiled, maxMemoryBytes);
    this.#compiled.set(key, compiling);
    return compiling;
  }
}

async function compileModules(
  transpiled: TranspiledComponent,
  maxMemoryBytes: number,
): Promise<readonly LinkedModule[]> {
  allowExtendedConst();
  try {
    const outcome = capMemories(
      transpiled.modules.map(({ bytes }) => bytes),
      maxMemoryBytes,
    );
    if (outcome.kind === 'refused')
      throw new ComponentFault('unavailable', `the component cannot start: ${outcome.reason}`);
    const modules = await Promise.all(outcome.modules.map((bytes) => WebAssembly.compile(bytes)));
    return modules.map((module, index) => ({
      name: transpiled.modules[index]?.name ?? '',
      module,
      memories: outcome.memories[index] ?? 0,
    }));
  } catch (error) {
    if (error instanceof MalformedWasm || error instanceof WebAssembly.CompileError) {
      throw new ComponentFault('unavailable', `the component cannot be compiled: ${error.message}`);
    }
    throw error;
  }
}
