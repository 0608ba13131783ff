import { chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { printed, scoped, sealed, shell, type ScriptedCall, type Setup } from './contained-capsule.ts';
import { needsPrograms, useCapsule } from './use-capsule.ts';

interface Program {
  readonly title: string;
  readonly call: ScriptedCall;
  /** Programs of the host that it is about. */
  readonly needs?: readonly string[];
  /** What the model reads, by class where that differs. */
  readonly shows: string | Readonly<Record<Setup['class'], string>>;
}

const python = (id: string, ...lines: readonly string[]): ScriptedCall =>
  shell(id, `python3 - <<'END'\n${lines.join('\n')}\nEND`);

const programs: readonly Program[] = [
  {
    title: 'git commits to a repository and clones it',
    needs: ['git'],
    call: shell(
      'git',
      `set -e
git init -q -b main origin && cd origin
git config user.name A && git config user.email a@example.com
echo one > file && git add file && git commit -q -m first
cd .. && git clone -q origin copy && cd copy
git log --format='%an: %s' && cat file && git status --short`,
    ),
    shows: printed('A: first\none\n'),
  },
  {
    title: 'Python uses its standard library',
    needs: ['python3'],
    call: python(
      'python',
      'import json, sqlite3, ssl, subprocess, tempfile',
      'print(json.dumps({"a": [1, None]}))',
      'print(ssl.create_default_context().verify_mode.name)',
      'print(sqlite3.connect(":memory:").execute("select 6 * 7").fetchone()[0])',
      'print(subprocess.run(["sh", "-c", "echo child; exit 3"], capture_output=True, text=True))',
      'with tempfile.TemporaryFile("w+") as file: print(file.write("four"))',
    ),
    shows: printed(
      String.raw`{"a": [1, null]}
CERT_REQUIRED
42
CompletedProcess(args=['sh', '-c', 'echo child; exit 3'], returncode=3, stdout='child\n', stderr='')
4
`,
    ),
  },
  {
    title: 'processes of Python share a queue where shared memory is their own',
    needs: ['python3'],
    call: python(
      'pool',
      'import multiprocessing',
      'try:',
      '    with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]))',
      'except PermissionError: print("permission denied")',
    ),
    shows: { sealed: printed('[1, 2]\n'), scoped: printed('permission denied\n') },
  },
  {
    title: 'npm runs the tests of a package',
    needs: ['npm'],
    call: shell(
      'npm',
      `set -e; mkdir package; cd package
echo '{ "name": "a", "version": "1.0.0", "scripts": { "test": "node --test --test-reporter=tap" } }' > package.json
echo 'require("node:test")("adds", () => require("node:assert").equal(1 + 1, 2));' > add.test.js
npm test > log; grep -E '^# (pass|fail) ' log`,
    ),
    shows: printed('# pass 1\n# fail 0\n'),
  },
  {
    title: 'make builds a program of two files, which may not run',
    needs: ['make', 'gcc'],
    call: shell(
      'make',
      `set -e; mkdir program; cd program
echo 'int two(void) { return 2; }' > two.c
printf '#include <stdio.h>\\nint two(void);\\nint main(void) { printf("%%d\\\\n", two()); }\\n' > main.c
printf 'CC = gcc\\nmain: main.o two.o\\n\\tgcc -o main main.o two.o\\n' > Makefile
make -s; ./main`,
    ),
    shows: 'exit code: 126\nstdout: (empty)\nstderr:\nbash: line 5: ./main: Permission denied',
  },
  {
    title: 'bash substitutes processes and commands and reads here-documents',
    call: shell(
      'bash',
      `cat <(echo process) - <<END
here $(echo command | tr c C)
END
cat <<< word; wc -l < <(printf 'a\\nb\\n')`,
    ),
    shows: printed('process\nhere Command\nword\n2\n'),
  },
  {
    title: 'bash controls jobs and traps signals',
    call: shell(
      'jobs',
      `set -m; mkfifo gate
(read -r line < gate; exit 3) & kill -0 %1 && echo running; set +m; echo go > gate; wait %1; echo "ended with $?"
trap 'echo caught' USR1; kill -USR1 $$; trap 'echo bye' EXIT`,
    ),
    shows: printed('running\nended with 3\ncaught\nbye\n'),
  },
  {
    title: 'archives, searches and filters work',
    needs: ['jq'],
    call: shell(
      'filters',
      `set -e; mkdir -p tree/deep; echo b,1 > tree/deep/x; tar czf tree.tgz tree; tar tzf tree.tgz
gzip -k tree/deep/x; zcat tree/deep/x.gz | sed s/b/c/ | awk -F, '{ print $2, $1 }'
find tree -name x | sort | xargs wc -l; echo '{ "a": [1, 2] }' | jq -c .a`,
    ),
    shows: printed('tree/\ntree/deep/\ntree/deep/x\n1 c\n1 tree/deep/x\n[1,2]\n'),
  },
  {
    title: 'temporary files have a place',
    call: shell(
      'temporary',
      'file=$(mktemp); echo kept > "$file"; case $file in "$TMPDIR"/*) cat "$file";; esac; echo "${TMPDIR#"$PWD"}"',
    ),
    shows: { sealed: printed('kept\n/tmp\n'), scoped: printed('kept\n/.svc/home/tmp\n') },
  },
  {
    title: 'a temporary file is gone with its call where the place is its own',
    call: shell('later', 'ls "$TMPDIR" | grep tmp | wc -l'),
    shows: { sealed: printed('0\n'), scoped: printed('1\n') },
  },
];

const allow =
  'bash, sh, git, python3, npm, node, make, gcc, tar, gzip, zcat, find, sort, xargs, wc, sed, awk, jq, grep, cat, tr, mkdir, mkfifo, mktemp, ls';

const setups: readonly Setup[] = [...sealed, ...scoped];

describe.each(setups)('in $name', (setup) => {
  const capsule = useCapsule(setup, {
    calls: programs.map(({ call }) => call),
    capabilities: `shell: { allow: [${allow}] }`,
  });

  it.for(programs)('$title', async ({ call, needs = [], shows }, context) => {
    needsPrograms(context, ...needs);
    const { text, isError } = await capsule(context).result(call.id);
    expect(text).toBe(typeof shows === 'string' ? shows : shows[setup.class]);
    expect(isError).toBe(false);
  });
});

/** As pyenv writes them. */
const shim = (root: string): string => `#!/usr/bin/env bash
set -e
[ -n "$PYENV_DEBUG" ] && set -x

program="\${0##*/}"

export PYENV_ROOT="${root}"
exec "${root}/libexec/pyenv" exec "$program" "$@"
`;

describe.each(setups)('in $name, a pyenv shim', (setup) => {
  const capsule = useCapsule(setup, {
    calls: [shell('listed', 'greet "from a shell"'), shell('itself', '"from itself"', 'greet')],
    capabilities: 'shell: { allow: [bash, greet] }',
    prepare: (workspace) => {
      const root = join(workspace.folder, 'pyenv');
      workspace.write('pyenv/version', '3.9\n');
      workspace.write('pyenv/shims/greet', shim(root));
      chmodSync(join(root, 'shims', 'greet'), 0o755);
      mkdirSync(join(root, 'versions', '3.9.1', 'bin'), { recursive: true });
      copyFileSync('/bin/echo', join(root, 'versions', '3.9.1', 'bin', 'greet'));
      return { PATH: `${join(root, 'shims')}:/usr/bin:/bin` };
    },
  });

  it.for([
    ['started by a shell', 'listed', 'from a shell\n'],
    ['started as a tool', 'itself', 'from itself\n'],
  ] as const)('gives way to the program it stands for, %s', async ([, id, stdout], context) => {
    const { text } = await capsule(context).result(id);
    expect(text).toBe(printed(stdout));
  });
});
