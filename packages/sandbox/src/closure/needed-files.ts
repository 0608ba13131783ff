/** Finds all files that commands need to run and to do their work. */

import { basename, dirname } from 'node:path/posix';
import { type CollectedFiles, FileCollection, type FileHost } from './file-collection.ts';
import type { PathWalk } from './opened-file.ts';
import {
  addProgram,
  isShellScript,
  shellScriptProblem,
  type StartedProgram,
  findCommand,
  withoutShim,
} from './closure.ts';
import type { PathPattern, Profile } from './profile.ts';
import { profiles } from './profiles.ts';

/**
 * All that a process may open so that each of `programs`, absolute paths, can run and do its work: the baseline, closures
 * and profiles; and what is granted besides: files and directories to read, directories whose programs may run, and those of both whose programs
 * come with what they need. `searchPath` is the `PATH` that the process will have.
 */
export function neededFiles(
  programs: readonly string[],
  host: FileHost,
  searchPath: readonly string[],
  { reads = [], trees = [], hostReads = [] }: Partial<Record<'reads' | 'trees' | 'hostReads', readonly string[]>> = {},
): CollectedFiles {
  const files = new FileCollection(host);
  addBaseline(files);
  addCommands(files, programs, searchPath, hostReads);
  for (const walk of reads.map((path) => files.find(path))) if (walk !== null) files.read(walk);
  for (const walk of trees.map((path) => files.find(path))) if (walk !== null) files.execute(walk);
  return files.result();
}

const maxProgramDepth = 3;
const maxHelpers = 4096;

/** Libraries that the C library itself opens while a program runs: to end a thread, to look up users and hosts. */
const openedByLibc = ['libgcc_s.so.1', 'libnss_files.so.2', 'libnss_dns.so.2', 'libnss_compat.so.2'];

/**
 * Adds the closure of each command and what its profile adds (`profiles.ts`), and places with programs that are started from there. A shell script
 * without a profile is reported as a problem. `searchPath` is the `PATH` that the commands will have.
 */
export function addCommands(
  files: FileCollection,
  paths: readonly string[],
  searchPath: readonly string[],
  places: readonly string[] = [],
): void {
  const commands = new ProfiledCommands(files, searchPath);
  for (const path of paths) {
    const program = withoutShim(files, path, searchPath);
    if (program !== null) commands.add(program);
  }
  for (const place of places) commands.addPlace(place);
}

/** Commands with their profiles, each once: what one needs may need the other. */
class ProfiledCommands {
  readonly #files: FileCollection;
  readonly #searchPath: readonly string[];
  readonly #added = new Set<string>();
  readonly #helpers = new Set<string>();

  constructor(files: FileCollection, searchPath: readonly string[]) {
    this.#files = files;
    this.#searchPath = searchPath;
  }

  add(path: string): void {
    if (this.#added.has(path)) return;
    this.#added.add(path);
    const started = addProgram(this.#files, path, this.#searchPath);
    const applying = started.map((program) => ({ program, found: profilesOf(program) }));
    for (const { program, found } of applying) {
      if (program.libraries?.isMusl === false) for (const name of openedByLibc) program.libraries.open(name);
      for (const profile of found) this.#apply(profile, program);
    }
    const [script] = started;
    if (script?.isScript === true) {
      const patterns = applying.flatMap(({ found }) => found.flatMap(({ readOfScript = [] }) => readOfScript));
      for (const pattern of patterns)
        for (const place of matchingPaths(this.#files, pattern, script.walk)) this.#read(place);
    }
    const isKnown = applying[0]?.found.some(({ ofScript }) => ofScript) ?? false;
    if (isShellScript(started) && !isKnown) this.#files.problem(shellScriptProblem(path));
  }

  /** A file, or a directory whole, whose programs may run. It may hold some that are for other machines. */
  addPlace(path: string): void {
    const walk = this.#files.find(path);
    // What a link there leads to was not granted.
    if (walk?.path !== path) return;
    this.#files.execute(walk);
    this.#files.unreported(() => this.#addHelpers(path, 0));
  }

  #apply(profile: Profile, { walk, libraries }: StartedProgram): void {
    const files = this.#files;
    const program = profile.home === undefined ? walk : namesAtHome(files, profile.home, walk);
    const paths = (patterns: readonly string[] = []): string[] =>
      patterns.flatMap((pattern) => matchingPaths(files, pattern, program));
    for (const path of paths(profile.read)) this.#read(path);
    for (const path of paths(profile.readAround)) this.#read(dirname(path));
    for (const path of paths(profile.execute)) this.#addHelpers(path, 0);
    for (const path of paths(profile.pluginsFirst)) libraries?.openFirst(path);
    for (const path of paths(profile.plugins)) libraries?.open(path);
    for (const name of profile.needs ?? []) this.#addNeeded(name);
  }

  #addNeeded(name: string): void {
    const path = name.startsWith('/') ? name : findCommand(this.#files, name, this.#searchPath);
    if (path !== null && this.#files.find(path) !== null) this.add(path);
  }

  #read(path: string): void {
    const walk = this.#files.find(path);
    if (walk !== null) this.#files.read(walk);
  }

  /** A directory may be executed whole; its machine code gets its libraries, its scripts only what `needs` names. */
  #addHelpers(path: string, depth: number): void {
    const walk = this.#files.find(path);
    if (walk === null || this.#helpers.has(walk.path) || this.#helpers.size >= maxHelpers) return;
    this.#helpers.add(walk.path);
    if (depth === 0) this.#files.execute(walk);
    if (walk.kind === 'directory' && depth < maxProgramDepth) {
      for (const name of this.#files.host.list(walk.path) ?? []) this.#addHelpers(`${walk.path}/${name}`, depth + 1);
    } else if (walk.kind === 'file' && walk.executable && this.#files.format(walk)?.kind === 'elf') {
      addProgram(this.#files, walk.path, this.#searchPath);
    }
  }
}

function profilesOf({ walk, libraries }: StartedProgram): Profile[] {
  const names = walk.names.map((name) => basename(name));
  const loaded = [...(libraries?.names ?? [])];
  return profiles.filter(
    ({ programs, loading }) =>
      names.some((name) => programs?.test(name) ?? false) || loaded.some((name) => loading?.test(name) ?? false),
  );
}

/** The names by which programs and the C library turn ids, hosts and ports into words and back. */
const names = [
  '/etc/passwd',
  '/etc/group',
  '/etc/nsswitch.conf',
  '/etc/hosts',
  '/etc/host.conf',
  '/etc/resolv.conf',
  '/etc/gai.conf',
  '/etc/services',
  '/etc/protocols',
  '/etc/os-release',
  // By these, programs such as clang and pip recognise distributions.
  '/etc/debian_version',
  '/etc/lsb-release',
  '/etc/redhat-release',
  '/etc/SuSE-release',
];

/**
 * Languages, characters, times and terminals. A directory of `/usr/lib` for one architecture, `x86_64-linux-gnu` say, is known by its name: each of the
 * others would be looked at.
 */
const customs = [
  '/usr/lib/locale',
  '/usr/share/locale',
  '/etc/locale.alias',
  '/usr/share/locale-langpack',
  '/usr/share/i18n',
  '/usr/lib/*-linux-*/gconv',
  '/usr/lib/gconv',
  '/usr/lib64/gconv',
  '/etc/localtime',
  '/usr/share/zoneinfo',
  '/usr/share/terminfo',
  '/usr/lib/terminfo',
  '/etc/terminfo',
];

/**
 * Whom TLS trusts, wherever a distribution keeps it, and how its libraries are set up. For every program: many bring
 * their own TLS, which no list of libraries shows, and certificates are public. Private keys lie in none of these.
 */
const trust = [
  // Debian, Ubuntu, Alpine; on other systems links to the places below.
  '/etc/ssl/certs',
  '/etc/ssl/cert.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/openssl.cnf',
  '/usr/lib/ssl/cert.pem',
  '/usr/lib/ssl/certs',
  '/usr/lib/ssl/openssl.cnf',
  '/usr/share/ca-certificates',
  '/usr/local/share/ca-certificates',
  // Fedora, RHEL.
  '/etc/pki/ca-trust/extracted',
  '/etc/pki/tls/cert.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/pki/tls/certs/ca-bundle.trust.crt',
  '/etc/pki/tls/openssl.cnf',
  '/etc/crypto-policies/back-ends',
  '/usr/share/crypto-policies',
  // Arch, openSUSE.
  '/etc/ca-certificates/extracted',
  '/var/lib/ca-certificates/ca-bundle.pem',
  '/var/lib/ca-certificates/pem',
  '/var/lib/ca-certificates/openssl',
  '/etc/gnutls/config',
  '/etc/pkcs11/pkcs11.conf',
  '/usr/share/p11-kit/modules',
  '/usr/lib/*-linux-*/ossl-modules',
  '/usr/lib64/ossl-modules',
  '/usr/lib/ossl-modules',
  '/etc/krb5.conf',
];

/** How many processors there are, which programs ask to size their pools. */
const processors = ['online', 'possible', 'present'].map((name) => `/sys/devices/system/cpu/${name}`);

const loader = ['/etc/ld.so.cache'];

/** Old names of directories, links on most systems, by which the first line of a script names its interpreter. */
const mergedDirectories = ['/bin', '/sbin', '/lib', '/lib64'];

/** Adds what any program may open, whatever it is: files where the directory holds more, else whole directories. Nothing of a home, and of `/etc` only what is named here. */
export function addBaseline(files: FileCollection): void {
  for (const path of mergedDirectories) for (const link of files.find(path)?.links ?? []) files.link(link);
  const root = { path: '/', kind: 'directory', executable: true, links: [], names: ['/'] } as const;
  for (const pattern of [...loader, ...names, ...customs, ...trust, ...processors]) {
    for (const path of matchingPaths(files, pattern, root)) {
      const walk = files.find(path);
      if (walk !== null) files.read(walk);
    }
  }
}

const maxMatches = 2048;
const maxNames = 16_384;

/** Paths of a pattern that exist. `path` may be of a link. */
function matchingPaths(files: FileCollection, pattern: PathPattern, program: PathWalk): string[] {
  const matches = placesOf(pattern, program).flatMap((place) => expand(files, place));
  if (matches.length <= maxMatches) return matches;
  files.problem(`${program.path} has more than ${maxMatches} files ${pattern}; the rest was left out`);
  return matches.slice(0, maxMatches);
}

/** A program by those of its names alone that lie in its own home. */
function namesAtHome(files: FileCollection, home: PathPattern, walk: PathWalk): PathWalk {
  const names = walk.names.filter((name) => matchingPaths(files, home, { ...walk, names: [name] }).length > 0);
  return { ...walk, names };
}

function placesOf(pattern: PathPattern, { names }: PathWalk): string[] {
  if (pattern.startsWith('/')) return [pattern];
  const places = names.map((name) => {
    const modules = /^.*?\/node_modules(?=\/)/.exec(name)?.[0];
    const start = pattern.startsWith('{modules}') ? modules : dirname(dirname(name)).replace(/\/$/, '');
    return start === undefined ? [] : [pattern.replace(/^\{\w+\}/, () => start)];
  });
  return [...new Set(places.flat())];
}

function expand(files: FileCollection, pattern: string): string[] {
  const segments = pattern.split('/').slice(1);
  let paths = [''];
  for (const [at, segment] of segments.entries()) {
    const list = at === segments.length - 1 ? 'list' : 'listBranches';
    paths = segment.includes('*')
      ? paths.flatMap((path) => namesLike(files, path, segment, list).map((name) => `${path}/${name}`))
      : paths.map((path) => `${path}/${segment}`);
    paths = paths.slice(0, maxNames);
  }
  return paths.filter((path) => files.find(path) !== null);
}

function namesLike(files: FileCollection, directory: string, segment: string, list: 'list' | 'listBranches'): string[] {
  const [start = '', ...others] = segment.split('*');
  const end = others.at(-1) ?? '';
  const middle = others.slice(0, -1);
  const walk = files.find(directory === '' ? '/' : directory);
  if (walk?.kind !== 'directory') return [];
  const names = files.host[list](walk.path) ?? [];
  return names
    .slice(0, maxNames)
    .filter(
      (name) =>
        name.length >= start.length + end.length &&
        name.startsWith(start) &&
        name.endsWith(end) &&
        middle.every((part) => name.slice(start.length, name.length - end.length).includes(part)),
    )
    .sort();
}
