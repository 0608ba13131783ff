/** Puts the built page into a document, as `svc view` serves and exports it. */

import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { pageDocument } from '../../../../scripts/build-viewer.mjs';
import type { MadeSession } from './made-session.ts';
import { heldOf } from './record-answers.ts';

const ownRoot = fileURLToPath(new URL('../../../..', import.meta.url));

export interface PageFiles {
  readonly page: string;
  readonly css: string;
}

let files: PageFiles | null = null;

/** Builds the page from the sources, once. */
export async function buildPage(root: string = ownRoot): Promise<PageFiles> {
  if (files !== null) return files;
  const [, css = '', page = ''] = /<style>(.*)<\/style>.*<script type="module">(.*)<\/script>/s.exec(
    await pageDocument(root),
  ) ?? [''];
  files = { page, css };
  return files;
}

type Document =
  | { readonly kind: 'served' }
  | { readonly kind: 'exported'; readonly elements: Readonly<Record<string, string>> };

/** The page has to be built. */
export function documentOf(document: Document): { readonly html: string; readonly policy: string } {
  if (files === null) throw new Error('the page is not built yet');
  const { page, css } = files;
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const connect = document.kind === 'served' ? "connect-src 'self'; " : '';
  const policy = `default-src 'none'; script-src ${hash(page)}; style-src ${hash(css)}; worker-src blob:; img-src data:; ${connect}base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types svc`;
  const elements = document.kind === 'served' ? {} : document.elements;
  const meta = document.kind === 'served' ? '' : `<meta http-equiv="content-security-policy" content="${policy}">`;
  const held = Object.entries(elements).map(
    ([id, text]) => `<script type="application/octet-stream" id="${id}">${text}</script>`,
  );
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8">${meta}<meta name="viewport" content="width=device-width, initial-scale=1"><title>svc</title><style>${css}</style></head><body><div id="app"></div>${held.join('')}<script type="module">${page}</script></body></html>`;
  return { html, policy };
}

/** A session as the elements of an exported file. */
export async function elementsOf(
  { id, trace, journal, bodies }: Pick<MadeSession, 'id' | 'trace'> & Partial<MadeSession>,
  facts: object = {},
): Promise<Readonly<Record<string, string>>> {
  const { rows, lines, answers } = await heldOf({ trace, journal, bodies });
  const gzip = (text: string): string => gzipSync(text).toString('base64');
  const known = {
    id,
    live: false,
    readOnly: true,
    capture: 'content',
    has: { trace: true, journal: journal !== undefined, files: false },
    notes: [],
    notStopped: [],
    granted: null,
    ...facts,
  };
  return {
    'svc-facts': Buffer.from(JSON.stringify(known)).toString('base64'),
    'svc-rows': gzip(rows),
    'svc-lines': gzip(lines),
    'svc-answers': gzip(answers),
  };
}
