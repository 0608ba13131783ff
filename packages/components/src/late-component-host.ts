/** Puts off reading the component host until a component is needed. */

import { canceledCall, type Component, type ComponentCall, type ComponentGrants } from './component.ts';
import type { ComponentHost, ComponentHostOptions } from './component-host.ts';

type OwnCode = NonNullable<Parameters<ComponentHost['open']>[0]['code']>;

/** A `ComponentHost` whose code is loaded only when a component is first called or warmed: a capsule may wait for long. */
export function createLateComponentHost(options: ComponentHostOptions): ComponentHost {
  let host: Promise<ComponentHost> | null = null;
  const makeHost = async (): Promise<ComponentHost> =>
    (await import('./component-host.ts')).createComponentHost(options);
  const openHere = async (code: OwnCode, grants: ComponentGrants): Promise<Component> => {
    const { openInProcess } = await import('./in-process/open-in-process.ts');
    return openInProcess({ code, grants, resolver: options.resolver });
  };
  const components: LateComponent[] = [];
  return {
    open(source, grants) {
      const { code } = source;
      const component = new LateComponent(async () =>
        code === undefined ? (await (host ??= makeHost())).open(source, grants) : await openHere(code, grants),
      );
      components.push(component);
      return component;
    },
    async close() {
      await Promise.all(components.map((component) => component.close()));
      await (await host)?.close();
    },
  };
}

class LateComponent implements Component {
  readonly #make: () => Promise<Component>;
  #made: Promise<Component> | null = null;
  #closed = false;

  constructor(make: () => Promise<Component>) {
    this.#make = make;
  }

  warm(): void {
    if (!this.#closed) void this.#component().then((component) => component.warm());
  }

  async call(call: ComponentCall): Promise<unknown> {
    if (this.#closed) throw canceledCall();
    return await (await this.#component()).call(call);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await (await this.#made)?.close();
  }

  async #component(): Promise<Component> {
    return await (this.#made ??= this.#make());
  }
}
