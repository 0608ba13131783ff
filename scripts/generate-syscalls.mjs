// Writes packages/sandbox/src/seccomp/syscalls-*.json, the system calls of each architecture by name, from the kernel's own headers.
//
//     apt-get install linux-libc-dev linux-libc-dev-arm64-cross    (Debian's names)
//     node scripts/generate-syscalls.mjs
//
// Needs a C preprocessor (`cc`, or $CC). Where the headers are elsewhere: X86_64_HEADERS and AARCH64_HEADERS, lists of folders
// separated by colons. A later kernel's calls are added to `newer` below until the headers know them.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const compiler = process.env.CC ?? 'cc';

/** Since 424 a new call has the same number everywhere. */
const newer = [
  [451, 'cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount'],
  [459, 'lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat listxattrat removexattrat'],
  [467, 'open_tree_attr file_getattr file_setattr listns rseq_slice_yield'],
];

const architectures = [
  {
    name: 'x86_64',
    headers: process.env.X86_64_HEADERS ?? '/usr/include/x86_64-linux-gnu:/usr/include',
    header: 'asm/unistd_64.h',
    // Breakpoints of the kernel's tracers, not calls a program makes.
    own: { uretprobe: 335, uprobe: 336 },
  },
  {
    name: 'aarch64',
    headers: process.env.AARCH64_HEADERS ?? '/usr/aarch64-linux-gnu/include',
    header: 'asm/unistd.h',
    own: {},
  },
];

/** Names that mark a place in the list and are no call. */
const marks = new Set(['syscalls', 'arch_specific_syscall']);

for (const { name, headers, header, own } of architectures) {
  const table = new Map([...known(headers, header), ...Object.entries(own)]);
  for (const [first, names] of newer) {
    for (const [index, call] of names.split(' ').entries()) add(table, call, first + index);
  }
  const sorted = [...table].sort(([, one], [, other]) => one - other);
  const file = new URL(`../packages/sandbox/src/seccomp/syscalls-${name}.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
  console.log(`${name}: ${sorted.length} calls, the last ${sorted.at(-1)?.join(' ')}`);
}

function add(table, call, number) {
  const listed = table.get(call) ?? number;
  if (listed !== number) throw new Error(`${call} is ${listed} in the headers, ${number} here`);
  table.set(call, number);
}

/** The preprocessor is asked twice: which names there are, then what each stands for, since some stand for another name. */
function known(headers, header) {
  const include = `#include <${header}>\n`;
  const defined = preprocess(['-dM'], headers, include).matchAll(/^#define __NR_(\w+) /gm);
  const names = [...defined].map(([, name]) => name).filter((name) => !marks.has(name));
  const asked = names.map((name) => `call "${name}" __NR_${name}\n`).join('');
  const answered = [...preprocess(['-P'], headers, include + asked).matchAll(/^call "(\w+)" (\d+)$/gm)];
  if (answered.length !== names.length) throw new Error(`${header}: ${names.length} names, ${answered.length} numbers`);
  return answered.map(([, name, number]) => [name, Number(number)]);
}

function preprocess(options, headers, source) {
  const folders = headers.split(':').flatMap((folder) => ['-isystem', folder]);
  const all = ['-E', ...options, '-nostdinc', ...folders, '-'];
  return execFileSync(compiler, all, { input: source, encoding: 'utf8', stdio: ['pipe', 'pipe', 'inherit'] });
}
