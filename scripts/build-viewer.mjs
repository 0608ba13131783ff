// @ts-check
// Bundles the page of the viewer into two texts in `dist/viewer`: its program, which is its worker's too, and its look. `svc view` puts them into one document.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { build } from 'esbuild';
import { minifySync } from 'oxc-minify';

const files = [
  { name: 'page.js', entry: 'start/main.ts' },
  { name: 'page.css', entry: 'page/page.css' },
];

/** What would end the element that a text stands in, or begin another. */
const endsElement = /<\/(?:script|style)|<!--/i;

/** Properties by whose names the page alone goes: they get short ones. What is read of JSON, what browsers know and what modules export keeps its name. */
const own =
  /^(?:(?:is|has|only|rested)[A-Z]\w*|[a-z]+Of|makeWorker|taskIds?|durationMs|startedAt|eventId|waitId|delegationId|waitingTasks|(?:input|output)Tokens|modelCalls|filesystemScope|projectFolder|rowHeight|barPixels|toggleKeys|closeOver|byLane|firstRow|tailBytes)$/;
const others =
  /^(?:is(?:Array|Connected|Error|File|Finite|Integer|NaN|SafeInteger|View)|has(?:Own|OwnProperty|Attribute|PointerCapture)|indexOf|valueOf)$/;

/**
 * Writes what has changed. Throws where a text could not stand in a document.
 * @param {string} root Of the checkout.
 * @param {string} dist Where it goes.
 */
export async function buildViewer(root, dist) {
  const folder = join(dist, 'viewer');
  mkdirSync(folder, { recursive: true });
  for (const { name, entry } of files) {
    const bundle = await bundled(join(root, 'packages/viewer/src', entry), root);
    const text = name.endsWith('.js') ? minified(name, bundle.text) : bundle.text;
    if (endsElement.test(text)) throw new Error(`${name} holds what ends an element of a document`);
    const path = join(folder, name);
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
  }
}

/**
 * The properties that have short names in the program of the page.
 * @param {string} root Of the checkout.
 */
export async function shortenedNames(root) {
  return (await bundled(join(root, 'packages/viewer/src/start/main.ts'), root)).shortened;
}

/**
 * @param {string} entry
 * @param {string} root
 */
async function bundled(entry, root) {
  const { outputFiles, mangleCache } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    // Browsers of 2024: `light-dark()` and what is read of streams.
    target: ['chrome123', 'firefox128', 'safari17.5'],
    alias: { '@svc/protocol': join(root, 'packages/protocol/src') },
    // Children as arguments are shorter than children as a property, which is what type checks know.
    tsconfigRaw: { compilerOptions: { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'Fragment' } },
    inject: [join(root, 'packages/viewer/src/page/jsx.ts')],
    mangleProps: own,
    reserveProps: others,
    mangleCache: {},
    legalComments: 'none',
    charset: 'ascii',
    logLevel: 'warning',
  });
  return { text: outputFiles[0]?.text ?? '', shortened: Object.keys(mangleCache ?? {}) };
}

/**
 * What one compressor of programs leaves, the other finds: together they leave two percent less.
 * @param {string} name
 * @param {string} text
 */
function minified(name, text) {
  const { code, errors } = minifySync(name, text, {
    module: true,
    compress: { target: ['chrome123', 'firefox128', 'safari17.5'], treeshake: { propertyReadSideEffects: false } },
    mangle: { toplevel: true },
    codegen: { removeWhitespace: true },
  });
  if (errors.length > 0) throw new Error(`${name} cannot be made smaller: ${errors[0]?.message}`);
  return code;
}
