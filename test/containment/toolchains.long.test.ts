import { describe, expect, it } from 'vitest';

import { printed, scoped, sealed, shell, type ScriptedCall, type Setup } from './contained-capsule.ts';
import { hasProgram, needsPrograms, useCapsule } from './use-capsule.ts';

interface Toolchain {
  readonly title: string;
  readonly call: ScriptedCall;
  readonly needs: readonly string[];
  readonly shows: string;
}

const toolchains: readonly Toolchain[] = [
  {
    title: 'Java compiles and runs a class, which starts a child and takes the limit for all memory',
    needs: ['java', 'javac'],
    call: shell(
      'java',
      `set -e; mkdir java; cd java
cat > A.java <<'END'
public class A {
  public static void main(String[] words) throws Exception {
    var child = new ProcessBuilder("sh", "-c", "echo child").start();
    System.out.print(new String(child.getInputStream().readAllBytes()));
    System.out.println(Runtime.getRuntime().maxMemory() <= 256L << 20);
  }
}
END
javac A.java 2> log && java A 2>> log`,
    ),
    shows: printed('child\ntrue\n'),
  },
  {
    title: 'Go builds, runs and tests a module',
    needs: ['go'],
    call: shell(
      'go',
      `set -e; mkdir go; cd go
printf 'module a\\n\\ngo 1.18\\n' > go.mod
printf 'package main\\n\\nimport "fmt"\\n\\nfunc main() { fmt.Println("built") }\\n' > main.go
printf 'package main\\n\\nimport "testing"\\n\\nfunc TestA(t *testing.T) {}\\n' > a_test.go
go build -o a . && ./a && go test ./... | cut -c1-2`,
    ),
    shows: printed('built\nok\n'),
  },
  {
    title: 'CMake configures and builds a program of C',
    needs: ['cmake', 'make', 'gcc'],
    call: shell(
      'cmake',
      `set -e; mkdir cmake; cd cmake
printf 'cmake_minimum_required(VERSION 3.10)\\nproject(a C)\\nadd_executable(a a.c)\\n' > CMakeLists.txt
printf '#include <stdio.h>\\nint main(void) { return puts("built") < 0; }\\n' > a.c
CC=gcc cmake -S . -B out > log && cmake --build out >> log && out/a`,
    ),
    shows: printed('built\n'),
  },
  {
    title: 'gdb reads a program',
    needs: ['gdb', 'gcc'],
    call: shell(
      'gdb',
      `set -e; mkdir gdb; cd gdb
echo 'int main(void) { return 0; }' > a.c; gcc -g -o a a.c
gdb -nx --batch -ex 'list main,main' a`,
    ),
    shows: printed('1\tint main(void) { return 0; }\n'),
  },
];

const cargo: Toolchain = {
  title: 'Cargo builds, runs and tests a package',
  needs: ['cargo', 'rustc', 'cc'],
  call: shell(
    'cargo',
    `set -e; mkdir -p cargo/src; cd cargo
printf '[package]\\nname = "a"\\nversion = "0.1.0"\\nedition = "2021"\\n' > Cargo.toml
printf 'fn main() { println!("built"); }\\n#[test]\\nfn adds() {}\\n' > src/main.rs
cargo build -q && target/debug/a && cargo test -q | grep -o '1 passed'`,
  ),
  shows: printed('built\n1 passed\n'),
};

const programs = ['java', 'javac', 'go', 'cmake', 'make', 'gcc', 'gdb', 'cargo', 'rustc', 'cc'].filter(hasProgram);
const capabilities = `filesystem: { workdir_exec: true }
resources: { cpu: 600, processes: 512, open_files: 4096, file_size: 1Gi, memory: 1Gi }
shell: { allow: [${['bash', 'sh', 'grep', 'cat', 'cut', 'mkdir', ...programs].join(', ')}] }`;

const setups: readonly Setup[] = [...sealed, ...scoped];

describe.each(setups)('in $name', (setup) => {
  // In the tree of the host a proxy of rustup stays in the place of the program.
  const used = setup.class === 'sealed' && setup.uid === null ? [...toolchains, cargo] : toolchains;
  const capsule = useCapsule(setup, { calls: used.map(({ call }) => call), capabilities });

  it.for(used)('$title', { timeout: 240_000 }, async ({ call, needs, shows }, context) => {
    needsPrograms(context, ...needs);
    const { text, isError } = await capsule(context).result(call.id);
    expect({ text, isError }).toEqual({ text: shows, isError: false });
  });
});
