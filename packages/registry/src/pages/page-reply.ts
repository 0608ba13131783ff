/** Makes the answers that are pages: their frame, their style, and the headers that let a browser do nothing with them but show them. */

import { createHash } from 'node:crypto';

import type { Reply, ReplyHeaders } from '@svc/kit/http/reply.ts';
import { pagesPrefix } from '../paths.ts';
import { type Content, documentOf, Element, element, link } from './markup.ts';

const style =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:70rem;padding:1rem}table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)}bdi,code{overflow-wrap:anywhere}dt{font-weight:600;margin-top:.6rem}dd{margin:0}nav{display:flex;gap:1rem;margin:1rem 0}.state{font-weight:600}';

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const headers: ReplyHeaders = {
  'content-security-policy': policy,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** A page with a way back to the list. */
export function pageReply(title: string, content: readonly Content[], status = 200): Reply {
  const header = element('header', element('p', link(pagesPrefix, 'svc-registry')));
  const body = [header, element('main', element('h1', title), ...content)];
  const html = documentOf({ title: `${title} - svc-registry`, style, body });
  return { kind: 'bytes', status, headers, contentType: 'text/html; charset=utf-8', bytes: Buffer.from(html) };
}

/** Rows under titles. */
export function tableOf(titles: readonly string[], rows: readonly (readonly Content[])[]): Element {
  const heads = titles.map((title) => new Element('th', { scope: 'col' }, [title]));
  const cells = rows.map((row) => element('tr', ...row.map((cell) => element('td', cell))));
  return element('table', element('thead', element('tr', ...heads)), element('tbody', ...cells));
}

export const rowsOfPage = 100;

/** The rows of a page, from 1 on, and the links to the pages before and after; null for a page that is not there. */
export function pageOf<Row>(
  rows: readonly Row[],
  page: number,
  href: (page: number) => string,
): { readonly shown: readonly Row[]; readonly nav: readonly Content[] } | null {
  const pages = Math.max(1, Math.ceil(rows.length / rowsOfPage));
  if (page > pages) return null;
  const shown = rows.slice((page - 1) * rowsOfPage, page * rowsOfPage);
  if (pages === 1) return { shown, nav: [] };
  const nav = element(
    'nav',
    ...(page > 1 ? [new Element('a', { href: href(page - 1), rel: 'prev' }, ['earlier'])] : []),
    `page ${page} of ${pages}`,
    ...(page < pages ? [new Element('a', { href: href(page + 1), rel: 'next' }, ['more'])] : []),
  );
  return { shown, nav: [nav] };
}
