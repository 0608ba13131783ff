// Builds a component from JavaScript: `componentizeSource({ source, world })` gives the bytes of `component.wasm`. It is the code of
// `svc build`, with the packages, the engine and the `packages/guest/wit/` of this checkout.
import * as componentizer from 'componentize-qjs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { importTypeScript } from './import-typescript.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const builder = join(root, 'packages', 'components', 'src', 'builder');
const own = await importTypeScript(['./componentize.ts', './guest-engine.ts'], builder);

/** What a component depends on beside its source, the packages and `packages/guest/wit/`. */
export const builderFiles = [join(builder, 'componentize.ts'), ...own.engineFiles.map((file) => join(root, file))];

/** `world` is `tool`, `driver` or `hook`. Rejects with the builder's message when the source or an interface is wrong. */
export async function componentizeSource({ source, world }) {
  const engine = own.readGuestEngine(root);
  const { version } = createRequire(import.meta.url)('componentize-qjs/package.json');
  if (version !== engine.componentizerVersion) {
    const made = `packages/components/engine is made of componentize-qjs ${engine.componentizerVersion}`;
    throw new Error(
      `${made}, and ${version} is installed: run npm install, or node scripts/make-engine.mjs after an update`,
    );
  }
  return await own.componentizeSource({
    source,
    world,
    componentizer,
    engine: engine.bytes,
    witRoot: join(root, 'packages', 'guest', 'wit'),
  });
}

/** The options of esbuild for a guest. */
export const { guestBundle } = own;
