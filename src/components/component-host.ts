import { randomBytes } from 'node:crypto';

import type { HostResolver } from '../containment/egress/resolver.ts';
import type { Component, ComponentGrants } from './component.ts';
import { CompileCache, type ComponentSource } from './compiler/compile-cache.ts';
import { Compiler } from './compiler/compiler.ts';
import type { LoadMessage } from './exchange.ts';
import { HostedComponent } from './hosted-component.ts';
import { ModuleCache } from './module-cache.ts';

export interface ComponentHostOptions {
  /** Holds compiled components; made when missing, safe to delete. `~/.svc/cache`. */
  readonly cacheDir: string;
  /** The directory of the installed package, as `findPackageRoot` gives it. */
  readonly packageRoot: string;
  /** Told the name of a source that has to be compiled first, which takes a second or more. */
  readonly onCompile?: (name: string) => void;
  /** Asked for the names in requests of components; the host's own resolver when absent. */
  readonly resolver?: HostResolver;
}

/** Makes components out of their bytes. One serves a whole process: what it compiled is shared by all that it opened. */
export interface ComponentHost {
  /** Nothing is read or started before the first call or `warm`; that call reports what is wrong with the source. */
  open(source: ComponentSource, grants: ComponentGrants): Component;
  /** Ends every component it opened, and what is being compiled. */
  close(): Promise<void>;
}

export function createComponentHost(options: ComponentHostOptions): ComponentHost {
  const { cacheDir, packageRoot, onCompile, resolver } = options;
  const compiler = new Compiler(packageRoot);
  const cache = new CompileCache(cacheDir, compiler, onCompile);
  const moduleCache = new ModuleCache();
  const open = new Set<HostedComponent>();

  async function prepare(source: ComponentSource, grants: ComponentGrants): Promise<LoadMessage> {
    const transpiled = await cache.load(source);
    const [modules, codeCache] = await Promise.all([
      moduleCache.load(transpiled, grants.maxMemoryBytes),
      cache.codeCache(transpiled),
    ]);
    const { glue, glueSha256, imports } = transpiled;
    const { preopens, env, maxMemoryBytes, tellsOutput = false } = grants;
    return {
      kind: 'load',
      glue,
      glueSha256,
      imports,
      codeCache,
      modules,
      preopens,
      env,
      maxMemoryBytes,
      tellsOutput,
      seed: randomSeed(),
    };
  }

  return {
    open(source, grants) {
      const component: HostedComponent = new HostedComponent({
        instance: {
          packageRoot,
          outbound: { grants, ...(resolver === undefined ? {} : { resolver }) },
          onCodeCache: (glueSha256, data) => cache.keepCodeCache(glueSha256, data),
        },
        prepare: () => prepare(source, grants),
        onClose: () => open.delete(component),
      });
      open.add(component);
      return component;
    },
    async close() {
      await Promise.all([...open].map((component) => component.close()));
      await compiler.close();
      await cache.settled();
    },
  };
}

function randomSeed(): [bigint, bigint] {
  const bytes = randomBytes(16);
  return [bytes.readBigUInt64LE(0), bytes.readBigUInt64LE(8)];
}
