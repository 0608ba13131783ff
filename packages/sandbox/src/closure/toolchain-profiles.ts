/** Lists what compilers and build programs of languages open and start by themselves, beyond those of C. */

import type { Profile } from './profile.ts';

/**
 * Each toolchain finds its own home from where its program lies: java.home, GOROOT, the sysroot of rustc, CMAKE_ROOT. `home` is the file by which such a
 * directory is known, so that nothing is taken of a prefix such as `/usr`, which many programs share.
 */
export const toolchainProfiles: readonly Profile[] = [
  {
    programs: /^(?:java|javac|jar|jarsigner|javadoc|javap|jcmd|jdeps|jlink|jshell|keytool)$/,
    home: '{prefix}/lib/jvm.cfg',
    read: [
      ...['lib', 'conf', 'jmods', 'include', 'release'].map((name) => `{prefix}/${name}`),
      // Debian keeps the configuration of a Java there, and links to it from its home.
      '/etc/java-*-openjdk',
      '/etc/ssl/certs/java',
    ],
    execute: ['{prefix}/lib/jspawnhelper', '{prefix}/lib/jexec'],
    pluginsFirst: ['{prefix}/lib/server/libjvm.so', '{prefix}/lib/libjli.so'],
    plugins: ['{prefix}/lib/*.so'],
  },
  {
    programs: /^mvn$/,
    home: '{prefix}/boot/plexus-classworlds*.jar',
    read: ['{prefix}', '/etc/maven', '/etc/mavenrc', '/usr/share/java', '/usr/share/maven-repo'],
    needs: ['java', 'javac', 'sh', 'uname', 'dirname', 'basename', 'expr', 'ls', 'sed', 'tr', 'which', 'readlink'],
    ofScript: true,
  },
  {
    // R is a shell script, which starts the program behind it, and Rscript starts R.
    programs: /^R(?:script)?$/,
    read: [
      '{prefix}/lib/R',
      '{prefix}/lib64/R',
      '{prefix}/share/R',
      '/etc/R',
      '/usr/local/lib/R/site-library',
      '/usr/share/R',
    ],
    execute: ['{prefix}/lib/R/bin', '{prefix}/lib64/R/bin'],
    pluginsFirst: ['{prefix}/lib/R/lib/*.so', '{prefix}/lib64/R/lib/*.so'],
    plugins: [
      ...['lib', 'lib64'].flatMap((lib) => [
        `{prefix}/${lib}/R/modules/*.so`,
        `{prefix}/${lib}/R/*library/*/libs/*.so`,
      ]),
      '/usr/local/lib/R/site-library/*/libs/*.so',
    ],
    needs: ['bash', 'sh', 'uname', 'sed', 'expr', 'rm', 'ls', 'cat', 'which'],
    ofScript: true,
  },
  {
    programs: /^(?:go|gofmt)$/,
    home: '{prefix}/src/runtime/proc.go',
    read: ['{prefix}', '{prefix}/api', '{prefix}/misc', '{prefix}/src', '{prefix}/test'],
    execute: ['{prefix}/bin', '{prefix}/pkg/tool'],
  },
  {
    programs: /^(?:cargo|rustc|rustdoc|rustfmt|cargo-fmt|cargo-clippy|clippy-driver)$/,
    home: '{prefix}/lib/rustlib/components',
    read: ['{prefix}/lib', '{prefix}/etc', '{prefix}/share'],
    execute: [
      '{prefix}/bin',
      '{prefix}/libexec',
      '{prefix}/lib/rustlib/*/bin/rust-lld',
      '{prefix}/lib/rustlib/*/bin/gcc-ld',
    ],
    needs: ['cargo', 'rustc', 'rustdoc', 'cc'],
  },
  {
    programs: /^(?:cmake|ctest|cpack)$/,
    home: '{prefix}/share/cmake*/Modules/CMake.cmake',
    read: ['{prefix}/share/cmake*', '{prefix}/share/aclocal', '{prefix}/lib/cmake', '{prefix}/lib/*/cmake'],
    needs: ['cmake'],
  },
  {
    programs: /^gdb$/,
    home: '{prefix}/share/gdb/syscalls/gdb-syscalls.dtd',
    read: ['{prefix}/share/gdb', '/etc/gdb', '{prefix}/lib/python3*', '{prefix}/lib/python3', '{prefix}/share/gcc'],
    plugins: ['{prefix}/lib/python3*/lib-dynload/*.so'],
  },
];
