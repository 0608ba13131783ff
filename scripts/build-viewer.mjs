// @ts-check
// Builds the page of the viewer: one document with its program, which is its worker's too, and its look; packed, as browsers take it.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { gzipAsync } from '@gfx/zopfli';
import { build } from 'esbuild';
import { minifySync } from 'oxc-minify';

/** What would end the element that a text stands in, or begin another. */
const endsElement = /<\/(?:script|style)|<!--/i;

/** Properties by whose names the page alone goes: they get short ones. What the server answers, what browsers know and what modules export keeps its name. */
const own =
  /^(?:(?:is|are|has|only|rested)[A-Z]\w*|on(?:Choose|Move|Open|Unsent)|[a-z]+Of|makeWorker|waitId|waitingTasks|modelCalls|rowHeight|barPixels|pixels?|took|closeOver|pickTask|toggleLane|showFailed|whyEmpty|slowCount|lastTurn|byLane)$/;
const others =
  /^(?:is(?:Array|Connected|Error|File|Finite|Integer|NaN|SafeInteger|View)|has(?:Own|OwnProperty|Attribute|PointerCapture|Evidence)|is(?:Untrusted|Why)|indexOf|valueOf)$/;

/**
 * Writes `dist/viewer/page.html.gz` where the page has changed.
 * @param {string} root Of the checkout.
 * @param {string} dist Where it goes.
 */
export async function buildViewer(root, dist) {
  const folder = join(dist, 'viewer');
  const packed = join(folder, 'page.html.gz');
  const document = await pageDocument(root);
  if (existsSync(packed) && gunzipSync(readFileSync(packed)).toString() === document) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(packed, await packedDocument(document));
}

/**
 * The document as it is served. Throws where a text could not stand in it.
 * @param {string} root Of the checkout.
 */
export async function pageDocument(root) {
  const [program, look] = await Promise.all([
    bundled(programOf(root), root),
    bundled({ entryPoints: [join(root, 'packages/viewer/src/page/page.css')] }, root),
  ]);
  const { script, style } = withShortProperties(minified(program.text), look.text);
  if (endsElement.test(script + style)) throw new Error('the page holds what ends an element of a document');
  const head =
    '<meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width, initial-scale=1"><title>svc view</title>';
  return `<!doctype html><html lang="en"><head>${head}<style>${style}</style></head><body><div id="app"></div>
<script type="module">${script}</script></body></html>
`;
}

/**
 * Custom properties of the look get short names. The program, which draws in the same colours, has some of them as whole texts.
 * @param {string} script
 * @param {string} style
 */
function withShortProperties(script, style) {
  const names = [...new Set(style.match(/(?<=[{;])--[\w-]+(?=:)/g))];
  const short = (/** @type {string} */ name) => (names.includes(name) ? `--${names.indexOf(name).toString(36)}` : name);
  return {
    script: script.replaceAll(/(?<=(["'`]))--[\w-]+(?=\1)/g, short),
    style: style.replaceAll(/--[\w-]+/g, short),
  };
}

/**
 * As gzip. It is made once and read often, so it may take a second to become four percent smaller than `zlib` would leave it.
 * @param {string} document
 */
export async function packedDocument(document) {
  return await gzipAsync(Buffer.from(document), {});
}

/**
 * The properties that have short names in the program of the page.
 * @param {string} root Of the checkout.
 */
export async function shortenedNames(root) {
  return (await bundled(programOf(root), root)).shortened;
}

/** The folders of the page, the lowest first, and how names of modules end: last those that hold elements. */
const floors = ['text', 'trace', 'worker', 'store', 'page', 'start'];
const endings = ['.ts', '.tsx'];

/**
 * All modules of the page, floor by floor: what is alike stands together, which takes one percent fewer bytes than the order in which they import each other.
 * @param {string} root
 */
function programOf(root) {
  const resolveDir = join(root, 'packages/viewer/src');
  const modules = floors.flatMap((floor) => {
    const files = readdirSync(join(resolveDir, floor)).sort();
    return endings.flatMap((ending) =>
      files
        .filter((file) => extname(file) === ending && !file.endsWith('.test.ts'))
        .map((file) => `./${floor}/${file}`),
    );
  });
  return { stdin: { contents: modules.map((module) => `import '${module}';`).join('\n'), resolveDir } };
}

/**
 * @param {Pick<import('esbuild').BuildOptions, 'entryPoints' | 'stdin'>} entry
 * @param {string} root
 */
async function bundled(entry, root) {
  const { outputFiles, mangleCache } = await build({
    absWorkingDir: root,
    ...entry,
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
 * @param {string} text
 */
function minified(text) {
  const { code, errors } = minifySync('page.js', text, {
    module: true,
    compress: { target: ['chrome123', 'firefox128', 'safari17.5'], treeshake: { propertyReadSideEffects: false } },
    mangle: { toplevel: true },
    codegen: { removeWhitespace: true },
  });
  if (errors.length > 0) throw new Error(`the page cannot be made smaller: ${errors[0]?.message}`);
  return code;
}
