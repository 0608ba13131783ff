// @ts-check
// Bundles the page of the viewer into two texts in `dist/viewer`: its program, which is its worker's too, and its look. `svc view` puts them into one document.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { build } from 'esbuild';

const files = [
  { name: 'page.js', entry: 'start/main.ts' },
  { name: 'page.css', entry: 'page/page.css' },
];

/** What would end the element that a text stands in, or begin another. */
const endsElement = /<\/(?:script|style)|<!--/i;

/**
 * Writes what has changed. Throws where a text could not stand in a document.
 * @param {string} root Of the checkout.
 * @param {string} dist Where it goes.
 */
export async function buildViewer(root, dist) {
  const folder = join(dist, 'viewer');
  mkdirSync(folder, { recursive: true });
  for (const { name, entry } of files) {
    const text = await bundled(join(root, 'packages/viewer/src', entry), root);
    if (endsElement.test(text)) throw new Error(`${name} holds what ends an element of a document`);
    const path = join(folder, name);
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
  }
}

/**
 * @param {string} entry
 * @param {string} root
 */
async function bundled(entry, root) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    // Browsers of 2024: `light-dark()` and what is read of streams.
    target: ['chrome123', 'firefox128', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    charset: 'ascii',
    logLevel: 'warning',
  });
  return outputFiles[0]?.text ?? '';
}
