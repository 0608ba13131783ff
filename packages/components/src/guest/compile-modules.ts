import type { CoreModule } from '../compiler/transpiled-component.ts';
import { allowExtendedConst } from '../extended-const.ts';
import { capGrowth } from '../growth-cap.ts';

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
  return outcome.modules.map(({ bytes, grows }, index) => ({
    name: modules[index]?.name ?? '',
    module: new WebAssembly.Module(bytes),
    grows,
  }));
}
