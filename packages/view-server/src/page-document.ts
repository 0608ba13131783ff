/** Makes documents of the viewer's built page, as it is served and as it is exported. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { findPackageRoot } from '@svc/kit/files/package-root.ts';

/** What `scripts/build-viewer.mjs` has made of `packages/viewer`. */
export interface BuiltPage {
  /** The document that is served; its policy is a header. */
  readonly html: string;
  /** The document as gzip. */
  readonly packed: Uint8Array;
}

/** Reads the page of a package; throws what the system refuses. */
export function readPage(): BuiltPage {
  const packed = readFileSync(join(findPackageRoot(import.meta.filename), 'dist', 'viewer', 'page.html.gz'));
  return { html: gunzipSync(packed).toString(), packed };
}

/** What the page may do: run itself and its worker, and ask its own server or nobody. */
export function pagePolicy(page: BuiltPage, kind: 'served' | 'exported'): string {
  const { style, script } = partsOf(page);
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

/** What stands before and behind the data of an exported file, whose policy is a part of it. */
export function exportedParts(page: BuiltPage): { readonly before: string; readonly after: string } {
  const { start, middle, end } = partsOf(page);
  const policy = pagePolicy(page, 'exported');
  return { before: `${start}<meta http-equiv="Content-Security-Policy" content="${policy}">${middle}`, after: end };
}

/** Where a policy can stand in the document, and data; and the two texts that a policy names. */
const layout =
  /^(?<start>.*?<meta charset="utf-8">)(?<middle>.*?<style>(?<style>.*?)<\/style>.*?)(?<end><script type="module">(?<script>.*?)<\/script>.*)$/s;

type Part = 'start' | 'middle' | 'style' | 'end' | 'script';

function partsOf({ html }: BuiltPage): Readonly<Record<Part, string>> {
  const parts = layout.exec(html)?.groups;
  if (parts === undefined) throw new Error('the built page is no document of the viewer');
  return parts as Record<Part, string>;
}

/** Data within a document. Base64 has no character that would end it. */
export function dataElement(id: string, base64: string): string {
  return `${dataStart(id)}${base64}${dataEnd}`;
}

export function dataStart(id: string): string {
  return `<script type="application/octet-stream" id="${id}">`;
}

export const dataEnd = '</script>\n';

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
