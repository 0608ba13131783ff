import { compilerProfiles } from './compiler-profiles.ts';
import type { Profile } from './profile.ts';

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
];

function pluginsBelow(directory: string): string[] {
  return [`${directory}/*.so`, `${directory}/*/*.so`, `${directory}/*/*/*.so`];
}
