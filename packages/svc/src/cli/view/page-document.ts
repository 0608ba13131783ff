/** Makes the viewer's one HTML document of its texts, as it is served and as it is exported. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { findPackageRoot } from '@svc/kit/files/package-root.ts';

/** What `scripts/build-viewer.mjs` has made of `packages/viewer`. */
export interface PageTexts {
  /** Of the page, and of the worker that it makes of the same text. */
  readonly script: string;
  readonly style: string;
}

/** Of a package that is whole, or built; throws what the system refuses. */
export function readPageTexts(): PageTexts {
  const folder = join(findPackageRoot(import.meta.filename), 'dist', 'viewer');
  const [script = '', style = ''] = ['page.js', 'page.css'].map((name) => readFileSync(join(folder, name), 'utf8'));
  return { script, style };
}

/** What the page may do: run itself and its worker, and ask its own server or nobody. */
export function pagePolicy({ script, style }: PageTexts, kind: 'served' | 'exported'): string {
  return [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'worker-src blob:',
    'img-src data:',
    ...(kind === 'served' ? ["connect-src 'self'"] : []),
    "base-uri 'none'",
    "form-action 'none'",
    // A meta element cannot say this one.
    ...(kind === 'served' ? ["frame-ancestors 'none'"] : []),
    "require-trusted-types-for 'script'",
    'trusted-types svc',
  ].join('; ');
}

/** The document that is served; its policy is a header. */
export function servedDocument(texts: PageTexts): string {
  const { before, after } = documentAround(texts, '');
  return before + after;
}

/** What stands before and behind the data of an exported file, whose policy is a part of it. */
export function exportedParts(texts: PageTexts): { readonly before: string; readonly after: string } {
  const policy = pagePolicy(texts, 'exported');
  return documentAround(texts, `<meta http-equiv="Content-Security-Policy" content="${policy}">`);
}

function documentAround(texts: PageTexts, meta: string): { readonly before: string; readonly after: string } {
  checkText('page.js', texts.script, 'script');
  checkText('page.css', texts.style, 'style');
  const head = `<meta charset="utf-8">${meta}<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width, initial-scale=1"><title>svc view</title>`;
  return {
    before: `<!doctype html><html lang="en"><head>${head}<style>${texts.style}</style></head><body><div id="app"></div>\n`,
    after: `<script type="module">${texts.script}</script></body></html>\n`,
  };
}

/** Data within a document. Base64 has no character that would end it. */
export function dataElement(id: string, base64: string): string {
  return `${dataStart(id)}${base64}${dataEnd}`;
}

export function dataStart(id: string): string {
  return `<script type="application/octet-stream" id="${id}">`;
}

export const dataEnd = '</script>\n';

/** A text that would not be the whole of its element has another hash than the policy allows. */
function checkText(name: string, text: string, element: 'script' | 'style'): void {
  const closing = new RegExp(`</${element}|<!--`, 'i').exec(text);
  if (closing !== null) throw new Error(`${name} holds ${closing[0]}, which ends its element`);
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
