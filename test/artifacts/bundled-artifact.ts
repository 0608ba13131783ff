import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildArtifacts } from '../../scripts/build-artifacts.mjs';
import { compiledFileName } from '@svc/components/compiler/compiler.ts';
import { openTranspiled } from '@svc/components/compiler/transpiled-component.ts';
import type { Component, ComponentGrants } from '@svc/components/component.ts';
import { createComponentHost, type ComponentHost } from '@svc/components/component-host.ts';
import { TestFolder } from './test-folder.ts';

const packageRoot = fileURLToPath(new URL('../../', import.meta.url));

export const noGrants: ComponentGrants = {
  preopens: [],
  env: {},
  mayReach: () => false,
  maxMemoryBytes: 256 * 1024 * 1024,
};

/** The artifacts of this package as they ship, in the host that runs them. */
export class BundledArtifacts {
  readonly #host: ComponentHost;
  readonly #cache: TestFolder;

  private constructor(cache: TestFolder) {
    this.#cache = cache;
    this.#host = createComponentHost({ cacheDir: cache.path, packageRoot });
  }

  /** Builds what has changed since the last build. */
  static async open(): Promise<BundledArtifacts> {
    await buildArtifacts();
    return new BundledArtifacts(new TestFolder());
  }

  /** The component in the form that ships: it is not there to be compiled, so this also shows that it need not be. */
  component(name: string, grants: Partial<ComponentGrants> = {}): Component {
    const precompiledDir = join(packageRoot, 'dist', 'bundled', name, '1.0.0', 'compiled');
    const compiled = openTranspiled(readFileSync(join(precompiledDir, compiledFileName)));
    if (compiled === null) throw new Error(`${precompiledDir} holds no compiled component`);
    const source = { name, wasm: '/nonexistent', sha256: compiled.component.componentSha256, precompiledDir };
    return this.#host.open(source, { ...noGrants, ...grants });
  }

  async close(): Promise<void> {
    await this.#host.close();
    this.#cache.remove();
  }
}
