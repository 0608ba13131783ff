/** Finds what processes of this program load and start, now and at their next start, without containment. */

import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { realPath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { parseProgram } from './closure/elf.ts';
import { systemFiles } from './closure/file-collection.ts';
import type { OwnPlace } from './own-places.ts';
import { splitWords } from './split-words.ts';

/** A process of this program, as its system and its starter describe it. */
export interface OwnProcess {
  /** The installed package. */
  readonly packageRoot: string;
  /** The `node` that runs it. */
  readonly node: string;
  /** Options of `node` on its own command line. */
  readonly nodeOptions: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** From which the next process takes compiled code and what the host enforces, where commands could reach it; null, or absent, elsewhere. */
  readonly cacheDirectory?: string | null;
  /** What is mapped into it, as `/proc/<pid>/maps` says; empty where no system says so. */
  readonly maps: string;
}

/** The one of this process, with what its system says is mapped. */
export function mappedProcess(own: Omit<OwnProcess, 'maps'>): OwnProcess {
  return { ...own, maps: unlessRefused(() => readFileSync('/proc/self/maps', 'utf8'), '') };
}

/** The shell that starts the processes of components. */
const shell = '/bin/sh';

/** Variables that name files or folders of code, or of whom it trusts, with what is between two names: ld.so(8), node(1), openssl-env(7). */
const variables: Readonly<Record<string, RegExp>> = {
  LD_LIBRARY_PATH: /[:;]/,
  LD_PRELOAD: /[:\s]/,
  LD_AUDIT: /:/,
  NODE_PATH: /:/,
  NODE_COMPILE_CACHE: /(?!)/,
  OPENSSL_CONF: /(?!)/,
  OPENSSL_MODULES: /(?!)/,
  OPENSSL_ENGINES: /(?!)/,
  NODE_EXTRA_CA_CERTS: /(?!)/,
  SSL_CERT_FILE: /(?!)/,
  SSL_CERT_DIR: /:/,
};

/**
 * The package, `node`, the folders of the libraries mapped into the process and those in which they are looked for, its cache, and what loader variables
 * and options of `node` name. Links on the way to the cache and to what a variable names are places of their own.
 */
export function ownPlaces(own: OwnProcess): readonly OwnPlace[] {
  const { packageRoot, node, env, cacheDirectory = null } = own;
  const program = realPath(node);
  const libraries = mappedFiles(own).filter((path) => path !== program);
  const found: OwnPlace[] = [
    { path: realPath(packageRoot), what: null },
    { path: program, what: null },
    { path: realPath(shell), what: 'which starts components' },
    // A library is opened by a name that is often a link beside it, so the folder has to stay as it is.
    ...libraries.map((path) => ({ path: dirname(path), what: `from which node has loaded ${basename(path)}` })),
    ...searchedFolders([program, ...libraries]),
    ...(cacheDirectory === null ? [] : placesOnTheWay(cacheDirectory, 'from which svc-sandbox is started')),
  ];
  for (const [name, between] of Object.entries(variables)) {
    const named = (env[name] ?? '') === '' ? [] : (env[name] ?? '').split(between);
    // To the loader an empty name means the current folder.
    const paths = name === 'LD_LIBRARY_PATH' ? named : named.filter((path) => path !== '');
    for (const path of paths) {
      if (name === 'LD_PRELOAD' && !path.includes('/')) continue;
      found.push(...placesOnTheWay(resolve(own.cwd, withOrigin(path, node)), `which ${name} names`));
    }
  }
  const preloaded = preloadedFolders(wordsOf(env['NODE_OPTIONS']), own.cwd, 'which NODE_OPTIONS names');
  found.push(...preloaded, ...preloadedFolders(own.nodeOptions, own.cwd, 'which an option of node names'));
  // The first of two for one path says what it is.
  return found.filter(({ path }, index) => found.findIndex((other) => other.path === path) === index);
}

/** None of a line that `node` refuses too. */
function wordsOf(line: string | undefined): readonly string[] {
  const split = splitWords(line ?? '');
  return split.kind === 'words' ? split.words : [];
}

/** The paths of regular files that are mapped executable, the program itself among them. */
function mappedFiles({ maps }: OwnProcess): readonly string[] {
  const paths = maps.split('\n').flatMap((line) => {
    const [, path] = /^\S+ ..x. \S+ \S+ \d+ +(\/.*)$/.exec(line) ?? [];
    return path === undefined ? [] : [path.replaceAll('\\012', '\n')];
  });
  return [...new Set(paths)].filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true);
}

/** What a distribution has put there looks in its own folders alone; to read that of each would take milliseconds of a start. */
const ofDistribution = ['/usr/bin/', '/usr/lib/', '/usr/lib64/', '/lib/', '/lib64/'];

/** Folders that the program and its libraries have their loader look in, there or not. */
function searchedFolders(loaded: readonly string[]): readonly OwnPlace[] {
  const objects = loaded.filter((path) => !ofDistribution.some((folder) => path.startsWith(folder)));
  return objects.flatMap((object) => {
    const opened = systemFiles.open(object);
    if (opened === null) return [];
    try {
      const format = parseProgram(opened);
      const paths = format.kind === 'elf' ? [...format.rpath, ...format.runpath] : [];
      return paths
        .map((path) => withOrigin(path, object))
        .filter((path) => path.startsWith('/'))
        .flatMap((path) => placesOnTheWay(resolve(path), `where ${basename(object)} has libraries looked for`));
    } finally {
      opened.close();
    }
  });
}

function withOrigin(path: string, object: string): string {
  return path.replaceAll(/\$(?:ORIGIN\b|\{ORIGIN\})/g, () => dirname(object));
}

/** The folders of the modules that options of `node` have it load first; of a package, the folder of packages that it lies in. */
function preloadedFolders(options: readonly string[], cwd: string, what: string): readonly OwnPlace[] {
  return options.flatMap((option) => {
    const [, ofOption] = /^--?[^=]*=(.+)$/s.exec(option) ?? [];
    const named = ofOption ?? option;
    if (named.startsWith('-')) return [];
    const file = moduleOf(named, cwd);
    if (file === null) return [];
    const packages = `${sep}node_modules${sep}`;
    const at = file.indexOf(packages);
    const folder = at === -1 ? dirname(file) : file.slice(0, at + packages.length - 1);
    // Node has followed the links on the way to the file; one that was replaced would lead elsewhere.
    const spelled = pathOf(named);
    const links = spelled === null ? [] : placesOnTheWay(resolve(cwd, spelled), what).slice(0, -1);
    return [...placesOnTheWay(folder, what), ...links];
  });
}

/** Where such a module is; null for anything else, as the value of another option. */
function moduleOf(named: string, cwd: string): string | null {
  const name = pathOf(named);
  if (name === null) return null;
  const { resolve: find } = createRequire(join(cwd, 'from.js'));
  for (const request of [name, join(cwd, name)]) {
    const found = unlessMalformed(() => find(request));
    if (found?.startsWith(sep) === true) return found;
  }
  return /^[@\w]/.test(name) ? packageFolder(name, cwd) : null;
}

/** Returns null for a URL that names no file. */
function pathOf(named: string): string | null {
  return named.startsWith('file:') ? unlessMalformed(() => fileURLToPath(named)) : named;
}

/** For a package that cannot be resolved, since it has another way in for `import`. */
function packageFolder(name: string, cwd: string): string | null {
  const [first = '', second = ''] = name.split('/');
  const wanted = first.startsWith('@') ? join(first, second) : first;
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', wanted);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return join(path, 'package.json');
    if (folder === dirname(folder)) return null;
  }
}

/** Returns null where Node finds no module, or no path in a URL. */
function unlessMalformed<Value>(find: () => Value): Value | null {
  try {
    return find();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}

const maxLinks = 40;

/** Where a path leads, there or not, and each link on the way: one that was replaced would lead elsewhere. */
function placesOnTheWay(path: string, what: string): readonly OwnPlace[] {
  const found: OwnPlace[] = [];
  let ahead = path.split(sep);
  let at: string = sep;
  for (let links = 0; ahead.length > 0 && links <= maxLinks;) {
    const [name = '', ...rest] = ahead;
    const next = resolve(at, name);
    const target = unlessRefused(() => readlinkSync(next), null);
    if (target === null) {
      [at, ahead] = [next, rest];
      continue;
    }
    links += 1;
    found.push({ path: next, what });
    if (target.startsWith(sep)) at = sep;
    ahead = [...target.split(sep), ...rest];
  }
  return [...found, { path: at, what }];
}
