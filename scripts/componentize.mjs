// Builds a component from JavaScript: `componentizeSource({ source, world })` gives the bytes of `component.wasm`. It is the code of
// `svc build`, with the packages and the `wit/` of this checkout.
import * as componentizer from 'componentize-qjs';
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';

const builder = fileURLToPath(new URL('../src/components/builder/', import.meta.url));
const witRoot = fileURLToPath(new URL('../wit', import.meta.url));

/** What a component depends on beside its source, the packages and `wit/`. */
export const builderFiles = [`${builder}componentize.ts`, `${builder}guest-bundle.ts`];

const { outputFiles } = await build({
  stdin: {
    contents: "export * from './componentize.ts'; export * from './guest-bundle.ts';",
    resolveDir: builder,
    loader: 'ts',
  },
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
  logLevel: 'warning',
});
const own = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);

/** `world` is `tool`, `driver` or `hook`. Rejects with the builder's message when the source or an interface is wrong. */
export async function componentizeSource({ source, world }) {
  return await own.componentizeSource({ source, world, componentizer, witRoot });
}

/** The options of esbuild for a guest. */
export const { guestBundle } = own;
