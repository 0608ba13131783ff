import { type CollectedFiles, FileCollection } from './file-collection.ts';
import type { FileHost } from './file-host.ts';
import { matchingPaths } from './path-patterns.ts';

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
