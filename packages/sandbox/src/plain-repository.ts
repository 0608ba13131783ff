/** Checks that git finds nothing to run in a repository, nor anything that leads it elsewhere. What this does not know is not plain. */

import { lstatSync, opendirSync } from 'node:fs';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';

const largestConfig = 64 * 1024;
const maxEntries = 4096;

const word = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const text = /^[^"\\#;]*$/;
const yesOrNo = /^(?:true|false|yes|no|on|off|[01]|)$/i;
const reference = /^refs\/[A-Za-z0-9/._-]+$/;
/** URLs of another machine: a push to a folder here runs its hooks. Neither `ext::…` nor what ssh takes for an option. */
const overNetwork = /^(?:https?|ssh|git):\/\/(?:[A-Za-z0-9][\w.%+~:-]*@)?[A-Za-z0-9[][\w.:\]-]*(?:\/[^\s"\\#;]*)?$/;
const overSsh = /^(?:\w[\w.]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!:|-|\/\/)[^\s:"\\#;]+$/;
const address = new RegExp(`${overNetwork.source}|${overSsh.source}`);

/** The keys that only say where and how files are kept, and what their values may be. */
const plainKeys: readonly (readonly [key: RegExp, value: RegExp])[] = [
  [/^core\.repositoryformatversion$/, /^[01]$/],
  [/^core\.(?:filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)$/, yesOrNo],
  [/^(?:remote|submodule)\..*\.url$/s, address],
  [/^remote\..*\.fetch$/s, /^\+?refs\/[A-Za-z0-9/._*-]+:refs\/[A-Za-z0-9/._*-]+$/],
  [/^branch\..*\.remote$/s, /^(?:\.|[A-Za-z0-9][A-Za-z0-9._-]*)$/],
  [/^branch\..*\.merge$/s, reference],
  [/^submodule\..*\.active$/s, yesOrNo],
  [/^user\.(?:name|email)$/, text],
  [/^init\.defaultbranch$/, word],
];

/** The directory of a repository. Refusals of the system are thrown. */
export function isPlainRepository(git: HeldDirectory): boolean {
  const names = namesIn(git.path);
  return (
    names !== null &&
    ['config', 'config.worktree'].every((name) => isPlainFile(git, name, isPlainConfig)) &&
    isPlainFile(git, 'commondir', (found) => /^\.\n?$/.test(found)) &&
    !names.includes('gitdir') &&
    ['modules', 'branches', 'remotes'].every((name) => entriesOf(git, name)?.length === 0) &&
    entriesOf(git, 'info')?.includes('attributes') === false &&
    hasPlainHooks(git)
  );
}

/** What another working tree has in the directory of its repository. */
export function plainWorktree(git: HeldDirectory): boolean {
  return (
    isPlainFile(git, 'config.worktree', isPlainConfig) &&
    isPlainFile(git, 'commondir', (found) => /^\.\.\/\.\.\n?$/.test(found)) &&
    lstatSync(git.entry('commondir'), { throwIfNoEntry: false }) !== undefined &&
    entriesOf(git, 'modules')?.length === 0
  );
}

/** Read more strictly than git does. */
export function isPlainConfig(config: string): boolean {
  let section = '';
  for (const line of config.split('\n')) {
    if (/[\\\r\0]/.test(line)) return false;
    if (/^[ \t]*(?:[#;]|$)/.test(line)) continue;
    const [, name, subsection] = /^\[([A-Za-z]+)(?: "([^"\]]*)")?\][ \t]*$/.exec(line) ?? [];
    if (name !== undefined) {
      section = name.toLowerCase() + (subsection === undefined ? '' : `.${subsection}`);
      continue;
    }
    const [, key, value] = /^[ \t]*([A-Za-z]+)[ \t]*=(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined) return false;
    const whole = `${section}.${key.toLowerCase()}`;
    if (!plainKeys.some(([known, values]) => known.test(whole) && values.test(value.trim()))) return false;
  }
  return true;
}

/** True for one that is not there. */
function isPlainFile(git: HeldDirectory, name: string, isPlain: (found: string) => boolean): boolean {
  if (lstatSync(git.entry(name), { throwIfNoEntry: false }) === undefined) return true;
  const found = git.readFile(name, largestConfig);
  return found !== null && isPlain(found.toString('latin1'));
}

/** Git runs what is executable and has the name of a hook. */
function hasPlainHooks(git: HeldDirectory): boolean {
  const names = entriesOf(git, 'hooks');
  if (names === null) return false;
  if (names.length === 0) return true;
  const hooks = git.enter('hooks');
  try {
    return names.every((name) => {
      if (name.endsWith('.sample')) return true;
      const stat = lstatSync(hooks.entry(name), { throwIfNoEntry: false });
      return stat?.isFile() === true && (stat.mode & 0o111) === 0;
    });
  } finally {
    hooks.close();
  }
}

/** A directory's names; none if it is missing, and null for anything else, and for too many. */
function entriesOf(git: HeldDirectory, name: string): readonly string[] | null {
  if (lstatSync(git.entry(name), { throwIfNoEntry: false }) === undefined) return [];
  const found = git.child(name);
  if (found.kind !== 'directory') return null;
  try {
    return namesIn(found.directory.path);
  } finally {
    found.directory.close();
  }
}

/** Returns null for more than a repository has. */
export function namesIn(directory: string | Buffer): readonly string[] | null {
  const names: string[] = [];
  const opened = opendirSync(directory);
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
      if (names.push(entry.name) > maxEntries) return null;
    }
  } finally {
    opened.closeSync();
  }
  return names;
}
