/** Makes components that can be called out of their bytes. */

import type { HostResolver } from '@svc/kit/net/resolver.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { Component, ComponentGrants } from './component.ts';
import { CompileCache, type ComponentSource } from './compiler/compile-cache.ts';
import { Compiler } from './compiler/compiler.ts';
import type { Loading } from './component-instance.ts';
import { HostedComponent } from './hosted-component.ts';

export interface ComponentHostOptions {
  /** Holds compiled components; made when missing, safe to delete. `~/.svc/cache`. */
  readonly cacheDir: string;
  /** The directory of the installed package, as `findPackageRoot` gives it. */
  readonly packageRoot: string;
  /** Receives the name of a source that has to be compiled first, which takes a second or more. */
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

interface Prepared {
  readonly glueSha256: string;
  readonly loading: Loading;
}

export function createComponentHost(options: ComponentHostOptions): ComponentHost {
  const { cacheDir, packageRoot, onCompile, resolver } = options;
  const compiler = new Compiler(packageRoot);
  const cache = new CompileCache(cacheDir, compiler, onCompile);
  const open = new Set<HostedComponent>();

  async function prepare(source: ComponentSource, grants: ComponentGrants): Promise<Prepared> {
    const transpiled = await cache.load(source);
    const codeCache = await cache.codeCache(transpiled);
    const { glue, glueSha256, imports, modules } = transpiled;
    const { env, tellsOutput = false } = grants;
    return { glueSha256, loading: { glue, imports, codeCache, modules, env, tellsOutput, seed: randomSeed() } };
  }

  return {
    open(source, grants) {
      const { preopens, maxMemoryBytes, imports: mode = live } = grants;
      let glueSha256 = '';
      const component: HostedComponent = new HostedComponent({
        instance: {
          packageRoot,
          preopens,
          maxMemoryBytes,
          mode,
          outbound: { grants, ...(resolver === undefined ? {} : { resolver }) },
          onCodeCache: (data) => cache.keepCodeCache(glueSha256, data),
        },
        prepare: async () => {
          const prepared = await prepare(source, grants);
          glueSha256 = prepared.glueSha256;
          return prepared.loading;
        },
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

const live = { kind: 'live' } as const;

function randomSeed(): [bigint, bigint] {
  const bytes = Buffer.from(systemClock.randomBytes(16));
  return [bytes.readBigUInt64LE(0), bytes.readBigUInt64LE(8)];
}
