/** Finds the files that a configuration of git names: git reads them, or runs them as its caller. */

import { statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';

/** A file or a directory by its absolute path, and the key that names it. */
export interface NamedByGit {
  readonly key: string;
  readonly path: string;
  /**
   * `directory`: git looks into it. `file`: git reads it. `program`: git runs it. `argument`: the path of what a program may be given.
   * `word`: any other text, which may be the name of a file.
   */
  readonly as: 'directory' | 'file' | 'program' | 'argument' | 'word';
}

interface ConfigEntry {
  /** In lower case, except a subsection. */
  readonly key: string;
  readonly value: string;
}

const largestFile = 1024 * 1024;
const maxFiles = 32;

/** Keys whose value is the path of one file. */
const fileKey = /^(?:include|includeif\..*)\.path$|^core\.(?:attributesfile|excludesfile)$/s;
/** Keys whose value is a command line. */
const commandKey =
  /^(?:alias|pager)\.|\.(?:alternaterefscommand|askpass|clean|cmd|command|difffilter|driver|editor|external|fsmonitor|gitproxy|helper|packobjectshook|pager|path|process|program|receivepack|smudge|sshcommand|textconv|update|uploadpack)$|^sendemail\.|command$/s;
/** Keys whose value is text for people. */
const textKey = /^(?:author|branch|color|committer|user)\./s;

/**
 * What `file`, and each file that it includes, names; relative to `top`, the folder of the working tree. An absent file names nothing. Returns null where there are
 * too many to read.
 */
export function namedByConfig(file: string, top: string): readonly NamedByGit[] | null {
  const named: NamedByGit[] = [];
  const files = [file];
  for (const from of files) {
    const text = unlessErrno(['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'], () => textOf(from), '');
    if (text === null || files.length > maxFiles) return null;
    for (const entry of parseGitConfig(text)) {
      const isInclude = entry.key.startsWith('include');
      const found = namedBy(entry, { base: isInclude ? dirname(from) : top, top });
      named.push(...found);
      if (isInclude) files.push(...found.map(({ path }) => path).filter((path) => !files.includes(path)));
    }
  }
  return named;
}

/** Returns null for one that is too large. Opens only a regular file: a FIFO would never end. */
function textOf(file: string): string | null {
  if (!statSync(file).isFile()) return '';
  return readFileUpTo(file, largestFile)?.toString('utf8') ?? null;
}

/** The entries of a configuration, as git reads them. A line that git would refuse is left out. */
export function parseGitConfig(text: string): readonly ConfigEntry[] {
  const entries: ConfigEntry[] = [];
  let section = '';
  for (const line of text
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
    .match(/(?:\\\n|[^\n])+/g) ?? []) {
    const [header = '', name = '', subsection] =
      /^\s*\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:\\[^\n]|[^"\\\n])*)")?[ \t]*\]/.exec(line) ?? [];
    if (header !== '')
      section = [name.toLowerCase(), ...(subsection === undefined ? [] : [subsection.replace(/\\(.)/g, '$1')])].join(
        '.',
      );
    const [, key, value = ''] = /^\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=([^]*))?/.exec(line.slice(header.length)) ?? [];
    if (key !== undefined && section !== '')
      entries.push({ key: `${section}.${key.toLowerCase()}`, value: valueOf(value) });
  }
  return entries;
}

const escaped: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\n': '' };

/** Without its quotes, its comment and the blanks around it. */
function valueOf(written: string): string {
  let value = '';
  let isQuoted = false;
  for (const [part] of written.trimStart().matchAll(/\\[^]|[^]/g)) {
    if (part === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (part === '#' || part === ';')) break;
    else if (part.length > 1) value += escaped[part.slice(1)] ?? part.slice(1);
    else value += part;
  }
  return isQuoted ? value : value.trimEnd();
}

/** `base` is the folder to which its paths are relative. */
interface Place {
  readonly base: string;
  readonly top: string;
}

function namedBy({ key, value }: ConfigEntry, place: Place): readonly NamedByGit[] {
  const path = value.replace(/^:\(optional\)/, '');
  if (textKey.test(key) || path === '') return [];
  if (key === 'core.hookspath') return placesOf(path, place).map((each) => ({ key, path: each, as: 'directory' }));
  if (fileKey.test(key)) return placesOf(path, place).map((each) => ({ key, path: each, as: 'file' }));
  const words = value.split(/[\s'"`;|&()<>$={}!,]+/).filter((word) => word !== '' && !word.startsWith('-'));
  return words.flatMap((word, at) => {
    const isPath = commandKey.test(key) && word.includes('/') && !word.includes('://');
    const as = !isPath ? 'word' : at === 0 || word.startsWith('.') ? 'program' : 'argument';
    // Behind what a shell puts before it, as in "$(git rev-parse --show-toplevel)/tools/x", a path begins with a slash.
    const spelled = isAbsolute(word) ? [word, `.${word}`] : [word];
    return spelled.flatMap((each, spelling) =>
      placesOf(each, place).map((found): NamedByGit => ({ key, path: found, as: spelling > 0 ? 'word' : as })),
    );
  });
}

/** Where a path of a configuration leads. The home directory, for which ~ stands, is a directory above the folder, or does not matter. */
function placesOf(path: string, { base, top }: Place): readonly string[] {
  if (!path.startsWith('~')) return [resolve(base, path)];
  const below = path.replace(/^[^/]*\/?/, '');
  const places: string[] = [];
  for (let above = dirname(top); ; above = dirname(above)) {
    const at = join(above, below);
    if (isBeneath(top, at)) places.push(at);
    if (above === dirname(above)) return places;
  }
}
