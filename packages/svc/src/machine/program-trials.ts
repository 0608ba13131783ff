/** Lists what is tried of well-known programs, to see whether a capsule can use them. */

import type { ResourceLimits } from '@svc/sandbox/launch/process-grants.ts';

/** One small piece of work, done offline in a folder of its own that holds only `files`. */
export interface ProgramTrial {
  readonly name: string;
  /** What it does if it works, after the name. */
  readonly does: string;
  /** Commands that it needs beside the shell and a few of every system, and that a capsule lists for it. */
  readonly programs: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  /** Is run by `sh` in the folder. */
  readonly script: string;
  /** What it prints if it works. */
  readonly prints: string;
}

/** Listed for every trial: what the scripts of builds start. */
export const everywhere: readonly string[] = ['sh', 'bash', 'cat', 'cp', 'env', 'ls', 'mkdir', 'mv', 'rm', 'sed'];

/** More than a capsule has when its manifest names none: compilers take it. */
export const trialLimits: ResourceLimits = {
  processes: 512,
  open_files: 4096,
  file_size: 2 ** 30,
  cpu: 600,
  memory: 2 ** 30,
};

const javaClass = `public class Small {
  public static void main(String[] words) throws Exception {
    var child = new ProcessBuilder("sh", "-c", "echo child").start();
    System.out.print(new String(child.getInputStream().readAllBytes()));
    System.out.println(Runtime.getRuntime().maxMemory() <= ${trialLimits.memory / 2}L);
    System.out.println(System.getProperty("user.home").equals(System.getenv("HOME")));
  }
}
`;

/** A package for pip, without the packages that build one. */
const wheel = `import zipfile
with zipfile.ZipFile('small-1-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('small.py', "def main():\\n    print('installed')\\n")
    about = 'small-1.dist-info/'
    wheel.writestr(about + 'METADATA', 'Metadata-Version: 2.1\\nName: small\\nVersion: 1\\n')
    wheel.writestr(about + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: small\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(about + 'entry_points.txt', '[console_scripts]\\nsmall = small:main\\n')
    wheel.writestr(about + 'RECORD', '')
`;

const cProgram = '#include <stdio.h>\nint main(void) { return puts("built") < 0; }\n';

export const programTrials: readonly ProgramTrial[] = [
  {
    name: 'git',
    does: 'makes a repository and a commit',
    programs: ['git'],
    files: { 'a.txt': 'a\n' },
    script:
      'git init -q . && git add . && git -c user.name=A -c user.email=a@example.com commit -qm first && git log --format=%s',
    prints: 'first\n',
  },
  {
    name: 'node',
    does: 'runs a module that starts a child',
    programs: ['node'],
    files: {
      'main.mjs': `import { execFileSync } from 'node:child_process';\nconsole.log(String(execFileSync(process.execPath, ['-p', '1 + 1'])).trim());\n`,
    },
    script: 'node main.mjs',
    prints: '2\n',
  },
  {
    name: 'npm',
    does: 'installs a package of the project and runs its program from a script',
    programs: ['npm', 'node'],
    files: {
      'package.json': '{ "name": "small", "version": "1.0.0", "scripts": { "say": "part" } }\n',
      'part/package.json': '{ "name": "part", "version": "1.0.0", "bin": "part.js" }\n',
      'part/part.js': `#!/usr/bin/env node\nconsole.log('installed');\n`,
    },
    script: 'npm install --offline --no-audit --no-fund --silent ./part && npm run --silent say',
    prints: 'installed\n',
  },
  {
    name: 'python3',
    does: 'makes a virtual environment and runs its own modules there',
    programs: ['python3'],
    files: { 'main.py': 'import ctypes, sqlite3, ssl, sys\nprint(sys.prefix != sys.base_prefix)\n' },
    script: 'python3 -m venv --without-pip own && own/bin/python main.py',
    prints: 'True\n',
  },
  {
    name: 'pip',
    does: 'installs a package from a file, which Python imports',
    programs: ['pip', 'python3'],
    files: { 'make.py': wheel },
    script:
      'python3 make.py && pip install -q --no-index --disable-pip-version-check --root-user-action ignore --target own ./small-1-py3-none-any.whl && PYTHONPATH=own python3 -c "import small; small.main()"',
    prints: 'installed\n',
  },
  {
    name: 'cc',
    does: 'compiles and runs a program of C by make',
    programs: ['cc', 'make'],
    files: { 'a.c': cProgram, Makefile: 'a: a.c\n\t@cc -o a a.c\n' },
    script: 'make && ./a',
    prints: 'built\n',
  },
  {
    name: 'cmake',
    does: 'configures and builds a program of C',
    programs: ['cmake', 'make', 'cc'],
    files: {
      'a.c': cProgram,
      'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.10)\nproject(a C)\nadd_executable(a a.c)\n',
    },
    script: 'CC=cc cmake -S . -B out > log && cmake --build out >> log && out/a',
    prints: 'built\n',
  },
  {
    name: 'gdb',
    does: 'reads a program and its source',
    programs: ['gdb', 'cc'],
    files: { 'a.c': 'int main(void) { return 0; }\n' },
    script: "cc -g -o a a.c && gdb -nx --batch -ex 'list main,main' a",
    prints: '1\tint main(void) { return 0; }\n',
  },
  {
    name: 'java',
    does: 'compiles and runs a class, which starts a child, and knows its limit of memory and its home',
    programs: ['java', 'javac'],
    files: { 'Small.java': javaClass },
    script: 'javac Small.java && java Small',
    prints: 'child\ntrue\ntrue\n',
  },
  {
    name: 'mvn',
    does: 'reads a project offline; plugins come from a repository in the workdir',
    programs: ['mvn', 'java', 'javac'],
    files: {
      'pom.xml': `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>small</groupId><artifactId>small</artifactId><version>1</version><packaging>pom</packaging>
</project>
`,
    },
    script: 'mvn -o -q -B -Dstyle.color=never validate && echo read',
    prints: 'read\n',
  },
  {
    name: 'go',
    does: 'builds, runs and tests a module',
    programs: ['go'],
    files: {
      'go.mod': 'module a\n\ngo 1.18\n',
      'main.go': 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("built") }\n',
      'a_test.go': 'package main\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n',
    },
    script: 'go build -o a . && ./a && go test ./... > log && sed "s/[[:space:]].*//" log',
    prints: 'built\nok\n',
  },
  {
    name: 'cargo',
    does: 'builds, runs and tests a package',
    programs: ['cargo', 'rustc', 'cc'],
    files: {
      'Cargo.toml': '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n',
      'src/main.rs': 'fn main() { println!("built"); }\n#[test]\nfn adds() {}\n',
    },
    script:
      'cargo build -q --offline && target/debug/a && cargo test -q --offline > log && sed -n "s/.*\\(1 passed\\).*/\\1/p" log',
    prints: 'built\n1 passed\n',
  },
  {
    name: 'Rscript',
    does: 'fits a line and draws it',
    programs: ['Rscript'],
    files: {
      'a.R':
        'fit <- lm(y ~ x, data.frame(x = 1:3, y = c(2, 4, 6)))\ncat(round(coef(fit)[["x"]]), system("echo child", intern = TRUE), "\\n")\npdf("a.pdf")\nplot(1:3)\ninvisible(dev.off())\n',
    },
    script: 'Rscript a.R',
    prints: '2 child \n',
  },
  {
    name: 'dotnet',
    does: 'makes, builds and runs a program of C#',
    programs: ['dotnet'],
    files: {},
    script: 'dotnet new console -o a > log && dotnet run --project a',
    prints: 'Hello, World!\n',
  },
];
