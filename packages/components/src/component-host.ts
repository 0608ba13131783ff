/** Makes components that can be called out of their bytes. */

import type { HostResolver } from '@svc/kit/net/resolver.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { Component, ComponentGrants } from './component.ts';
import { CompileCache, type ComponentSource } from './compiler/compile-cache.ts';
import { Compiler } from './compiler/compiler.ts';
import type { SeenTranspiled } from './compiler/read-transpiled.ts';
import type { TranspiledComponent } from './compiler/transpiled-component.ts';
import { ComponentInstance } from './component-instance.ts';
import type { GivenCompiled } from './exchange.ts';
import { HostedComponent } from './hosted-component.ts';
import { isInProcessLog } from './in-process/answers.ts';
import { instanceInProcess } from './in-process/open-in-process.ts';
import type { Instance } from './instance.ts';
import type { ConnectionRules } from './outbound/outbound-http.ts';

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

export function createComponentHost(options: ComponentHostOptions): ComponentHost {
  const { cacheDir, packageRoot, onCompile, resolver } = options;
  const compiler = new Compiler(packageRoot);
  const cache = new CompileCache(cacheDir, compiler, onCompile);
  const open = new Set<HostedComponent>();

  /** In a process of its own. */
  function openComponent(source: ComponentSource, grants: ComponentGrants): Instance {
    const { preopens, maxMemoryBytes, imports: mode = live, env, tellsOutput = false, asksChanges = false } = grants;
    let made = '';
    return new ComponentInstance({
      packageRoot,
      preopens,
      maxMemoryBytes,
      mode,
      outbound: rulesOf(grants),
      onCode: (code) => cache.keepCode(made, code),
      load: async (whole) => {
        const found = whole ? await cache.load(source) : await cache.find(source);
        made = found.glueSha256;
        const compiled = givenCompiled(found);
        return { compiled, codePath: cache.codePath(made), env, tellsOutput, asksChanges, seed: randomSeed() };
      },
    });
  }

  const rulesOf = (grants: ComponentGrants): ConnectionRules => ({
    grants,
    ...(resolver === undefined ? {} : { resolver }),
  });

  return {
    open(source, grants) {
      const { imports: mode = live } = grants;
      const { code } = source;
      const component: HostedComponent = new HostedComponent({
        mode,
        // A recording of a component is played by that component.
        open: (log) =>
          code === undefined || (log !== null && !isInProcessLog(log))
            ? openComponent(source, grants)
            : instanceInProcess({ code, grants, resolver }),
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

function givenCompiled(found: SeenTranspiled | TranspiledComponent): GivenCompiled {
  if ('path' in found) return { kind: 'file', seen: { path: found.path, digest: found.digest } };
  const { glue, imports, modules } = found;
  return { kind: 'whole', component: { glue, imports, modules } };
}

const live = { kind: 'live' } as const;

function randomSeed(): [bigint, bigint] {
  const bytes = Buffer.from(systemClock.randomBytes(16));
  return [bytes.readBigUInt64LE(0), bytes.readBigUInt64LE(8)];
}
