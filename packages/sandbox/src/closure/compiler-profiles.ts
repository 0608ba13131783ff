import type { Profile } from './profile.ts';

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
/** By these it tells distributions, and with them directories, apart. */
const releaseFiles = ['/etc/debian_version', '/etc/lsb-release', '/etc/redhat-release', '/etc/SuSE-release'];
const gccDirectories = ['{prefix}/lib/gcc', '{prefix}/libexec/gcc'];

/** A name as cross compilers and versions spell it: `aarch64-linux-gnu-gcc-12`. */
function toolNames(...tools: readonly string[]): RegExp {
  return new RegExp(`^(?:[a-z0-9_]+-)*(?:${tools.join('|')})(?:-\\d+(?:\\.\\d+)*)?$`);
}

/** Compilers, assemblers and linkers. What they make is not run by them, and needs `workdir_exec`. */
export const compilerProfiles: readonly Profile[] = [
  {
    programs: toolNames('gcc', 'g\\+\\+', 'cc', 'c\\+\\+', 'cpp', 'c99', 'c89', 'gfortran'),
    read: headers,
    execute: gccDirectories,
    needs: ['as', 'ld'],
  },
  {
    programs: toolNames('clang', 'clang\\+\\+'),
    // The directory of gcc says which headers and start files there are.
    read: [...headers, '{prefix}/lib/clang', '/usr/lib/clang', '/usr/lib/gcc', ...releaseFiles],
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
