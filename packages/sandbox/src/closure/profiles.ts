/** Lists what well-known programs open and start by themselves, which no list of libraries shows. */

import type { Profile } from './profile.ts';
import { toolchainProfiles } from './toolchain-profiles.ts';

/** Where the objects lie that begin every C program: libraries to link with lie beside them, and nowhere else. */
const startFiles = ['/usr/lib/*/crt1.o', '/usr/lib64/crt1.o', '/usr/lib/crt1.o'];
const libraryFiles = ['/usr/local/lib/*.a', '/usr/local/lib/*.so*', '/usr/local/lib64/*.a', '/usr/local/lib64/*.so*'];
const linkerFiles = [
  '/usr/lib/bfd-plugins',
  '/usr/lib/*/bfd-plugins',
  '/usr/lib64/bfd-plugins',
  '/usr/lib/ldscripts',
  '/usr/lib/*/ldscripts',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
];
const headers = ['/usr/include', '/usr/local/include'];
const gccDirectories = ['{prefix}/lib/gcc', '{prefix}/libexec/gcc'];

/** A name as cross compilers and versions spell it: `aarch64-linux-gnu-gcc-12`. */
function toolNames(...tools: readonly string[]): RegExp {
  return new RegExp(`^(?:[a-z0-9_]+-)*(?:${tools.join('|')})(?:-\\d+(?:\\.\\d+)*)?$`);
}

/** Compilers, assemblers and linkers. What they make is not run by them, and needs `workdir_exec`. */
const compilerProfiles: readonly Profile[] = [
  {
    programs: toolNames('gcc', 'g\\+\\+', 'cc', 'c\\+\\+', 'cpp', 'c99', 'c89', 'gfortran'),
    read: headers,
    execute: gccDirectories,
    needs: ['as', 'ld'],
  },
  {
    programs: toolNames('clang', 'clang\\+\\+'),
    // The directory of gcc says which headers and start files there are.
    read: [...headers, '{prefix}/lib/clang', '/usr/lib/clang', '/usr/lib/gcc'],
    needs: ['as', 'ld', 'ld.lld'],
  },
  {
    programs: toolNames('ld', 'ld\\.bfd', 'ld\\.gold', 'ld\\.lld', 'lld'),
    read: [...libraryFiles, ...linkerFiles],
    readAround: startFiles,
    plugins: ['/usr/lib/bfd-plugins/*.so', '/usr/lib/*/bfd-plugins/*.so'],
  },
  { programs: toolNames('ar', 'nm', 'ranlib', 'strip', 'objdump', 'objcopy'), read: linkerFiles },
];

/**
 * Programs that open more than the loader opens for them. Those that do not need no profile: bash, dash, the coreutils,
 * grep, sed, awk, find, jq, gzip, curl. `ssh` has none on purpose: its keys, agent and known hosts are an operator's to
 * grant or to keep.
 */
export const profiles: readonly Profile[] = [
  {
    // A local clone, a hook and an alias all go through the shell that git was built with.
    programs: /^git(?:-[a-z-]+)?$/,
    read: ['{prefix}/share/git-core', '{prefix}/etc/gitconfig', '/etc/gitconfig', '/etc/gitattributes'],
    execute: ['{prefix}/lib/git-core', '{prefix}/libexec/git-core'],
    needs: ['/bin/sh', 'sh'],
  },
  {
    programs: /^python(?:\d+(?:\.\d+)?)?$/,
    read: [
      '{prefix}/pyvenv.cfg',
      '{prefix}/lib/python*',
      '{prefix}/lib64/python*',
      '/usr/local/lib/python3*/dist-packages',
      '/usr/share/python-wheels',
      '/etc/python3*/sitecustomize.py',
      '/etc/mime.types',
    ],
    plugins: [
      '{prefix}/lib/python*/lib-dynload/*.so',
      '{prefix}/lib64/python*/lib-dynload/*.so',
      ...pluginsBelow('{prefix}/lib/python*/site-packages'),
      ...pluginsBelow('{prefix}/lib64/python*/site-packages'),
      ...pluginsBelow('{prefix}/lib/python*/dist-packages'),
      ...pluginsBelow('/usr/local/lib/python3*/dist-packages'),
    ],
  },
  {
    programs: /^(?:node|nodejs)$/,
    read: ['{prefix}/lib/node_modules', '/usr/share/nodejs', '/usr/share/node_modules', '/usr/lib/nodejs'],
    // A program of npm, wherever it was installed, is of its package and of those beside it.
    readOfScript: ['{modules}'],
  },
  {
    // `npm test` and an install script run by `sh -c`.
    programs: /^(?:npm|npx|npm-cli\.js|npx-cli\.js)$/,
    read: ['{modules}', '{prefix}/etc/npmrc', '/etc/npmrc'],
    needs: ['/bin/sh', 'sh', 'node'],
  },
  {
    programs: /^perl(?:5(?:\.\d+)*)?$/,
    read: [
      '{prefix}/lib/*/perl',
      '{prefix}/lib/*/perl5',
      '{prefix}/lib/*/perl-base',
      '{prefix}/lib/perl5',
      '{prefix}/lib64/perl5',
      '{prefix}/share/perl',
      '{prefix}/share/perl5',
      '/usr/local/lib/*/perl',
      '/usr/local/share/perl',
      '/usr/local/lib64/perl5',
      '/usr/local/share/perl5',
      '/etc/perl',
    ],
    plugins: [
      ...pluginsBelow('{prefix}/lib/*/perl-base/auto'),
      ...pluginsBelow('{prefix}/lib/*/perl/*/auto'),
      ...pluginsBelow('{prefix}/lib/*/perl5/*/auto'),
      ...pluginsBelow('{prefix}/lib/perl5/*/auto'),
      ...pluginsBelow('{prefix}/lib/perl5/*/*/auto'),
      ...pluginsBelow('{prefix}/lib64/perl5/auto'),
      ...pluginsBelow('{prefix}/lib64/perl5/vendor_perl/auto'),
    ],
  },
  {
    // GNU tar starts the program that compresses through a shell.
    programs: /^(?:tar|gtar|bsdtar)$/,
    needs: ['/bin/sh', 'sh', 'gzip', 'bzip2', 'xz', 'zstd'],
  },
  { programs: /^(?:gunzip|zcat|uncompress)$/, needs: ['gzip'], ofScript: true },
  { programs: /^[ef]grep$/, needs: ['grep'], ofScript: true },
  { programs: /^which(?:\.debianutils)?$/, ofScript: true },
  { programs: /^g?make$/, needs: ['/bin/sh', 'sh'] },
  { programs: /^wget$/, read: ['/etc/wgetrc'] },
  { loading: /^libldap/, read: ['/etc/ldap/ldap.conf', '/etc/openldap/ldap.conf'] },
  {
    loading: /^libsasl2\./,
    read: ['/usr/lib/*/sasl2', '/usr/lib64/sasl2', '/usr/lib/sasl2'],
    plugins: ['/usr/lib/*/sasl2/*.so', '/usr/lib64/sasl2/*.so', '/usr/lib/sasl2/*.so'],
  },
  ...compilerProfiles,
  ...toolchainProfiles,
];

function pluginsBelow(directory: string): string[] {
  return [`${directory}/*.so`, `${directory}/*/*.so`, `${directory}/*/*/*.so`];
}

/**
 * The other programs that a process gets with a command, because it is made of them: the shell of git, the assembler of gcc. By name,
 * without those that scripts of their own name start.
 */
export function impliedCommands(command: string): readonly string[] {
  const needed = profiles.filter(({ programs }) => programs?.test(command) === true).flatMap(commandsOf);
  return [...new Set(needed)].filter((name) => name !== command);
}

function commandsOf({ needs = [], ofScript }: Profile): readonly string[] {
  return ofScript === true ? [] : needs.filter((name) => !name.includes('/'));
}
