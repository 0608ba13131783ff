// @ts-check
// Mends the links in the documents of a package that is about to be packed: what a document links to and the package does not have is in the
// repository. Where no repository is declared, the text of such a link stays and the link goes.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/**
 * Where the files of a release are to be read; null for a repository at no address of the web.
 * @param {string} repository As `package.json` has it: `git+https://example.com/acme/svc.git`.
 * @param {string} tag
 * @returns {{ page: string, raw: string } | null} What goes before the path of a file that is read, and of one that is shown in a page.
 */
export function readableAt(repository, tag) {
  const [, address] = /^(?:git\+)?(https:\/\/.+?)(?:\.git)?\/?$/.exec(repository) ?? [];
  return address === undefined ? null : { page: `${address}/blob/${tag}`, raw: `${address}/raw/${tag}` };
}

/**
 * Mends every document of an unpacked package.
 * @param {string} folder
 * @param {{ place: string, sources: { page: string, raw: string } | null }} of `place` is where the package lies in the repository, `.` for its root.
 */
export function mendLinks(folder, { place, sources }) {
  for (const file of documentsOf(folder)) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    const mended = mendedText(text, (target) => elsewhere(target, { folder, file, place }), sources);
    if (mended !== text) writeFileSync(path, mended);
  }
}

/**
 * The documents of a package, as paths in it.
 * @param {string} folder
 * @returns {string[]}
 */
export function documentsOf(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .sort();
}

/** Code in which nothing is a link: blocks between fences, and spans between backquotes. */
const code = /^(?: {0,3})(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ {0,3}\1[^\n]*$|(?<!`)(`+)(?!`)[\s\S]*?[^`]\2(?!`)/gm;
const link = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g;
const pictures = /^[ \t]*<picture>[\s\S]*?<\/picture>[ \t]*\n?/gm;
const shownIn = /(src|srcset)="([^"]+)"/g;

/**
 * The targets of all links of a document, pictures too, as they are written.
 * @param {string} text
 * @returns {string[]}
 */
export function linksOf(text) {
  const prose = text.replaceAll(code, '');
  const shown = [...prose.matchAll(shownIn)].map(([, , target = '']) => target);
  return [...[...prose.matchAll(link)].map(([, , , target = '']) => target), ...shown];
}

/**
 * @param {string} text
 * @param {(target: string) => string | null} elsewhere The path in the repository of what the package does not have; null for any other target.
 * @param {{ page: string, raw: string } | null} sources
 */
function mendedText(text, elsewhere, sources) {
  const parts = [];
  let at = 0;
  // A link may have code in its text, so the code is hidden and put back, and not cut around.
  const hidden = /** @type {string[]} */ ([]);
  for (const found of text.matchAll(code)) {
    parts.push(text.slice(at, found.index), `\0${hidden.length}\0`);
    hidden.push(found[0]);
    at = found.index + found[0].length;
  }
  parts.push(text.slice(at));
  const mended = parts
    .join('')
    .replaceAll(pictures, (block) => {
      const targets = [...block.matchAll(shownIn)].map(([, , target = '']) => target);
      if (targets.every((target) => elsewhere(target) === null)) return block;
      if (sources === null) return '';
      return block.replaceAll(shownIn, (whole, key, target) => {
        const path = elsewhere(target);
        return path === null ? whole : `${key}="${sources.raw}/${path}"`;
      });
    })
    .replaceAll(link, (whole, mark, shown, target) => {
      const path = elsewhere(target);
      if (path === null) return whole;
      if (sources === null) return mark === '!' ? '' : shown;
      return `${mark}[${shown}](${mark === '!' ? sources.raw : sources.page}/${path})`;
    });
  return mended.replaceAll(/\0(\d+)\0/g, (_, index) => hidden[Number(index)] ?? '');
}

/**
 * @param {string} target
 * @param {{ folder: string, file: string, place: string }} of
 * @returns {string | null}
 */
function elsewhere(target, { folder, file, place }) {
  if (/^([a-z][a-z0-9+.-]*:|#|\/)/i.test(target)) return null;
  const [path = '', anchor] = target.split('#');
  const here = posix.join(posix.dirname(file), decodeURIComponent(path));
  if (!here.startsWith('..') && existsSync(join(folder, here))) return null;
  const there = posix.join(place, here);
  if (there.startsWith('..')) throw new Error(`${file} links to ${target}, which is not in the repository`);
  return `${there}${anchor === undefined ? '' : `#${anchor}`}`;
}
