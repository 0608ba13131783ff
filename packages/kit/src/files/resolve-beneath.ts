/** Says where a path leads before anything is opened. */

import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { relative } from 'node:path';

import { isErrno } from '../diagnostics/system-reason.ts';
import { unlessRefused } from './unless-refused.ts';

export type Resolution =
  /** Canonical, and the base or beneath it. */
  | { readonly kind: 'inside'; readonly real: string; readonly throughLink: boolean }
  | { readonly kind: 'outside' }
  /** Nothing is there, and no link on the way leads out. */
  | { readonly kind: 'missing'; readonly throughLink: boolean }
  /** Links that lead to each other. */
  | { readonly kind: 'loop' };

/** Links followed on the way to something that is not there; what the kernel itself allows. */
const maxLinks = 40;

/**
 * Where `path` leads from `base`, which is canonical; `path` is relative, without `.`, `..` and empty components. A link out differs
 * from nothing at all even when what it names is missing: otherwise an answer would show what exists outside. Throws system errors.
 */
export function resolveBeneath(base: string, path: string): Resolution {
  const plain = pathBeneath(base, path);
  try {
    const real = realpathSync.native(plain);
    return isBeneath(base, real) ? { kind: 'inside', real, throughLink: real !== plain } : { kind: 'outside' };
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES', 'ELOOP')) return followUnresolved(base, path);
    throw error;
  }
}

/** The path with all links followed; the path itself where the operating system refuses to follow them, as where nothing is there. */
export function realPath(path: string): string {
  return unlessRefused(() => realpathSync.native(path), path);
}

/** Whether a path is `base` or beneath it, both absolute, by their spelling: `.` and `..` count, links are not looked at. */
export function isBeneath(base: string, path: string): boolean {
  const way = relative(base, path);
  return way !== '..' && !way.startsWith('../');
}

/** The path of what is at `path` beneath `base`. Letter by letter: `join` of Node would take `..` and empty components away. */
export function pathBeneath(base: string, path: string): string {
  return base === '/' ? `/${path}` : `${base}/${path}`;
}

/** Walks a path that leads to nothing, a link at a time, to see whether it would lead out. */
function followUnresolved(base: string, path: string): Resolution {
  let pending = path.split('/');
  let current = base;
  let links = 0;
  while (pending.length > 0) {
    const [component = '', ...rest] = pending;
    const next = step(current, component);
    if (!isBeneath(base, next)) return { kind: 'outside' };
    const target = linkTarget(next);
    if (target.kind === 'missing') return { kind: 'missing', throughLink: links > 0 };
    if (target.kind === 'plain') {
      current = next;
      pending = rest;
      continue;
    }
    links += 1;
    if (links > maxLinks) return { kind: 'loop' };
    if (target.path.startsWith('/')) {
      // Letter by letter: what a link stands for before a `..` decides where that leads.
      if (target.path !== base && !target.path.startsWith(pathBeneath(base, ''))) return { kind: 'outside' };
      current = base;
      pending = [...target.path.slice(base.length).split('/'), ...rest];
    } else {
      pending = [...target.path.split('/'), ...rest];
    }
  }
  // It has come to be meanwhile; the next request will find it.
  return { kind: 'missing', throughLink: links > 0 };
}

function step(current: string, component: string): string {
  if (component === '' || component === '.') return current;
  // `current` has no links in it, so its parent is what precedes the last slash.
  if (component === '..') return current.slice(0, current.lastIndexOf('/')) || '/';
  return pathBeneath(current, component);
}

type LinkTarget =
  | { readonly kind: 'plain' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'link'; readonly path: string };

function linkTarget(path: string): LinkTarget {
  try {
    const status = lstatSync(path);
    return status.isSymbolicLink() ? { kind: 'link', path: readlinkSync(path) } : { kind: 'plain' };
  } catch (error) {
    // EINVAL: it was a link when it was looked at.
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EINVAL')) return { kind: 'missing' };
    throw error;
  }
}
