/** A typical use of a program. */
export interface ProgramUse {
  readonly title: string;
  /** `shell.allow`; the first one is started. */
  readonly allow: readonly string[];
  readonly words: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  readonly says?: RegExp;
  /** What it looks at if it may, and does its work without. */
  readonly besides?: readonly string[];
}

const twoFileProgram = {
  Makefile: 'program: main.o part.o\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -O1 -g -c -o $@ $<\n',
  'main.c': '#include <stdio.h>\nint part(void);\nint main(void) { printf("%d\\n", part()); }\n',
  'part.c': 'int part(void) { return 42; }\n',
};
const pythonImports = [
  'import json, ssl, sqlite3, subprocess, ctypes, hashlib, zoneinfo, decimal, bz2, lzma, multiprocessing, socket',
  'ssl.create_default_context(); print(sqlite3.connect(":memory:").execute("select 6*7").fetchone())',
  'print(hashlib.sha256(b"x").hexdigest(), zoneinfo.ZoneInfo("Europe/Rome"), socket.getservbyname("https"))',
];
const gitSession = [
  'git init -q one && cd one && git config user.email a@b.c && git config user.name a',
  'echo text > file && git add file && git commit -q -m first && git gc -q',
  'cd .. && git clone -q one two && git clone -q "file://$PWD/one" three && cd two && git log --stat | cat && git diff HEAD',
  'git config user.email a@b.c && git config user.name a && git commit -q --allow-empty -m second',
  'git fetch -q ../three && git rebase -q HEAD~1 && git stash list && echo done',
];

export const programUses: readonly ProgramUse[] = [
  {
    title: 'bash with here-documents, arrays and the time of day',
    allow: ['bash', 'cat'],
    words: ['-c', 'a=(1 2); cat <<X\n${a[1]} $(printf "%(%F)T" 0)\nX\nread -r x <<<"é"; echo "${#x}"'],
    says: /^2 1970-01-01\n1\n$/,
  },
  { title: 'sh', allow: ['sh'], words: ['-c', 'cd .; echo $((6*7))'], says: /^42\n$/ },
  {
    title: 'python3 importing half its library',
    allow: ['python3'],
    words: ['-c', pythonImports.join('\n')],
    says: /\(42,\)/,
  },
  {
    title: "the system's own python3",
    allow: ['/usr/bin/python3'],
    words: ['-c', pythonImports.join('\n')],
    says: /\(42,\)/,
  },
  {
    title: 'git: commits, a clone, a fetch and a rebase of a local repository',
    allow: ['bash', 'git', 'cat'],
    words: ['-e', '-c', gitSession.join('\n')],
    says: /done\n$/,
  },
  {
    title: 'node running a script',
    allow: ['node'],
    words: ['-e', 'require("node:https"); new Intl.DateTimeFormat("de").format(0); console.log(process.version)'],
    says: /^v/,
  },
  {
    title: '`npm test` of a package without dependencies',
    allow: ['npm'],
    words: ['test', '--no-update-notifier'],
    files: { 'package.json': '{"name":"p","scripts":{"test":"node t.js"}}', 't.js': 'console.log("it ran")' },
    says: /it ran/,
  },
  { title: 'make and gcc of two files', allow: ['make', 'gcc'], words: [], files: twoFileProgram },
  {
    title: 'g++ with link-time optimisation',
    allow: ['g++'],
    words: ['-O2', '-flto', '-o', 'program', 'main.cc'],
    files: { 'main.cc': '#include <iostream>\nint main() { std::cout << 1; }\n' },
  },
  {
    title: 'clang',
    allow: ['clang'],
    words: ['-o', 'program', 'main.c', 'part.c'],
    files: twoFileProgram,
    besides: ['/opt', '/usr/local'],
  },
  { title: 'curl saying its version', allow: ['curl'], words: ['--version'], says: /^curl / },
  { title: 'jq', allow: ['jq'], words: ['-n', '[1,2]|@json'], says: /\[1,2\]/ },
  {
    title: 'perl with modules of C',
    allow: ['perl'],
    words: ['-MPOSIX', '-MFile::Spec', '-MSocket', '-MData::Dumper', '-e', 'print Dumper(floor(4.2))'],
    says: /4/,
  },
  {
    title: 'sort, awk, sed, grep, find, tar and gzip',
    allow: [
      'bash',
      'sort',
      'awk',
      'sed',
      'grep',
      'find',
      'tar',
      'gzip',
      'gunzip',
      'wc',
      'ls',
      'env',
      'xargs',
      'echo',
      'date',
    ],
    words: [
      '-e',
      '-c',
      'printf "b\\na\\n" | sort -u | awk "{print toupper(\\$0)}" | sed s/A/c/ | grep -c c; find . -name "x*" | wc -l;' +
        'ls -l . >list; date >>list; tar czf a.tgz list; tar xzf a.tgz; gzip -k list; gunzip -f list.gz; env | xargs >/dev/null',
    ],
    says: /^1\n0\n$/,
  },
];
