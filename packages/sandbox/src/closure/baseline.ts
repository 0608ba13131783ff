/** Lists the files that any program may open, and finds files by patterns. */

import { dirname } from 'node:path/posix';

import { type CollectedFiles, FileCollection, type PathWalk } from './file-collection.ts';
import type { FileHost } from './file-host.ts';

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
];

/** Languages, characters, times and terminals. */
const customs = [
  '/usr/lib/locale',
  '/usr/share/locale',
  '/etc/locale.alias',
  '/usr/share/locale-langpack',
  '/usr/share/i18n',
  '/usr/lib/*/gconv',
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
  '/usr/lib/*/ossl-modules',
  '/usr/lib64/ossl-modules',
  '/usr/lib/ossl-modules',
  '/etc/krb5.conf',
];

/** How many processors there are, which programs ask to size their pools. */
const processors = ['online', 'possible', 'present'].map((name) => `/sys/devices/system/cpu/${name}`);

const loader = ['/etc/ld.so.cache'];

/** Old names of directories, links on most systems, by which the first line of a script names its interpreter. */
const mergedDirectories = ['/bin', '/sbin', '/lib', '/lib64'];

/**
 * What any program may open, whatever it is: as files where the directory holds more, else as whole directories. Nothing
 * of a home, and of `/etc` only what is named here. `problems` is empty.
 */
export function baselineFiles(host: FileHost): CollectedFiles {
  const files = new FileCollection(host);
  addBaseline(files);
  return files.result();
}

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

/**
 * A path in which `*` stands for any part of one name. `{prefix}` is the directory above the one that the program lies
 * in, `{modules}` the `node_modules` that it lies beneath. Each of a program's names gives such a directory.
 */
export type PathPattern = string;

const maxMatches = 2048;
const maxNames = 16_384;

/** What of a pattern is there. `path` may be of a link. */
export function matchingPaths(files: FileCollection, pattern: PathPattern, program: PathWalk): string[] {
  const matches = placesOf(pattern, program).flatMap((place) => expand(files, place));
  if (matches.length <= maxMatches) return matches;
  files.problem(`${program.path} has more than ${maxMatches} files ${pattern}; the rest was left out`);
  return matches.slice(0, maxMatches);
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
      ? paths.flatMap((path) => namesLike(files, path, { segment, list }).map((name) => `${path}/${name}`))
      : paths.map((path) => `${path}/${segment}`);
    paths = paths.slice(0, maxNames);
  }
  return paths.filter((path) => files.find(path) !== null);
}

interface Wanted {
  readonly segment: string;
  readonly list: 'list' | 'listBranches';
}

function namesLike(files: FileCollection, directory: string, { segment, list }: Wanted): string[] {
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
