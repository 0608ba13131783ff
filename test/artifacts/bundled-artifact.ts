import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildArtifacts } from '../../scripts/build-artifacts.mjs';
import { isBundledDriver } from '@svc/artifacts/manifest/names.ts';
import { ArchivedFiles } from '@svc/artifacts/store/open-stored.ts';
import { bundledRoot, readVariant } from '@svc/artifacts/store/store-layout.ts';
import { compiledFileName } from '@svc/components/compiler/compiler.ts';
import { openTranspiled } from '@svc/components/compiler/transpiled-component.ts';
import type { Component, ComponentGrants } from '@svc/components/component.ts';
import { createComponentHost, type ComponentHost } from '@svc/components/component-host.ts';
import { fixtureCache } from '../support/warm-home.ts';

const packageRoot = fileURLToPath(new URL('../../', import.meta.url));

export const noGrants: ComponentGrants = {
  preopens: [],
  env: {},
  mayReach: () => false,
  maxMemoryBytes: 256 * 1024 * 1024,
};

type Source = Parameters<ComponentHost['open']>[0];

/** The artifacts of this package as they ship, in the host that runs them. */
export class BundledArtifacts {
  readonly #host: ComponentHost = createComponentHost({ cacheDir: fixtureCache, packageRoot });

  /** Builds what has changed since the last build. */
  static async open(): Promise<BundledArtifacts> {
    await buildArtifacts();
    return new BundledArtifacts();
  }

  component(name: string, grants: Partial<ComponentGrants> = {}): Component {
    const source = isBundledDriver(name) ? inArchive(name) : compiledAhead(name);
    return this.#host.open(source, { ...noGrants, ...grants });
  }

  async close(): Promise<void> {
    await this.#host.close();
  }
}

/** A driver is compiled where a recording needs its component. */
function inArchive(name: string): Source {
  const stored = readVariant(bundledRoot(packageRoot), { name, version: '1.0.0' }, null);
  if (stored === null) throw new Error(`${name} is not built`);
  const archive = new ArchivedFiles(stored.path, stored.sha256, null);
  return { name, wasm: async () => await archive.read('component.wasm'), sha256: null };
}

/** The component in the form that ships: it is not there to be compiled, so this also shows that it need not be. */
function compiledAhead(name: string): Source {
  const precompiledDir = join(bundledRoot(packageRoot), name, '1.0.0', 'compiled');
  const compiled = openTranspiled(readFileSync(join(precompiledDir, compiledFileName)));
  if (compiled === null) throw new Error(`${precompiledDir} holds no compiled component`);
  return { name, wasm: '/nonexistent', sha256: compiled.component.componentSha256, precompiledDir };
}
