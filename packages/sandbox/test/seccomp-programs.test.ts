import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { canProbe, hasProgram, hostArchitecture, SeccompHost } from './seccomp-host.ts';

const architecture = hostArchitecture ?? 'x86_64';
const nothing = {
  architecture,
  udp: false,
  tcp: false,
  unixSockets: false,
  listen: false,
  ipc: false,
  restrictMetadata: false,
} as const;

describe.skipIf(!canProbe)('under the filter (skipped without a C compiler)', () => {
  let host: SeccompHost;
  let filter: string;
  beforeAll(() => {
    host = new SeccompHost();
    filter = host.filterFor(nothing);
  });
  afterAll(() => host.close());

  const bash = (script: string, directory?: string) => host.run(filter, ['bash', '-euc', script], directory);

  it('bash runs pipes, here-documents, process substitution, jobs and traps', () => {
    const script = `
      trap 'echo bye' EXIT
      cat <<< "$(printf 'b\\na\\n' | sort | tr '\\n' ,)"
      diff <(echo 1) <(echo 1) && echo same
      sleep 0 & wait $!
      (ulimit -n 100; ulimit -n)
      printf '%(%Y)T' 0
      echo
      kill -0 $$ && echo alive
    `;
    expect(bash(script)).toBe('a,b,\nsame\n100\n1970\nalive\nbye\n');
  });

  it('coreutils, find, tar and gzip do their work', () => {
    const script = `
      mkdir -p a/b; echo text > a/b/file; ln -s file a/b/link; ln a/b/file a/b/hard; mkfifo a/fifo
      cp -a a copy; install -m 755 a/b/file tool; touch -d 2020-01-01 a/b/file; chmod 600 a/b/file
      stat -c '%a %Y' a/b/file
      tar -czf a.tgz a && mkdir out && tar -xzf a.tgz -C out && cat out/a/b/link
      find out -type f | sort | xargs -n 1 -P 4 wc -c | sort
      head -c 1000000 /dev/zero | sha256sum | cut -c -8
      seq 100000 | sort --parallel=4 -R | sort -n | tail -1
      timeout 5 nice -n 1 env -i PATH="$PATH" mv out moved; ls moved; df . > /dev/null; du -s moved > /dev/null; id -u > /dev/null
    `;
    const lines = bash(script).trim().split('\n');
    expect(lines).toEqual(['600 1577836800', 'text', '5 out/a/b/file', '5 out/a/b/hard', 'd29751f2', '100000', 'a']);
  });

  it('python opens a terminal of its own for a program', (context) => {
    context.skip(!hasProgram('python3'), 'needs python3');
    expect(host.run(filter, ['python3', '-c', 'import pty; pty.spawn(["sh", "-c", "tty -s && echo terminal"])'])).toBe(
      'terminal\r\n',
    );
  });

  it('git makes a repository, commits, clones, fetches, merges and repacks', (context) => {
    context.skip(!hasProgram('git'), 'needs git');
    const script = `
      export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
      git init -q -b main one; cd one; echo 1 > file; git add .; git commit -qm first
      git clone -q . ../two; git checkout -qb side; echo 2 > other; git add .; git commit -qm second
      cd ../two; git fetch -q; git merge -q origin/side; git gc -q; git stash list; git fsck 2>&1
      git log --format=%s; git status --short
    `;
    expect(bash(script)).toBe('second\nfirst\n');
  });

  it('python runs threads, processes, subprocesses, an event loop and a database', (context) => {
    context.skip(!hasProgram('python3'), 'needs python3');
    const directory = host.emptyDirectory();
    const script = `
import asyncio, json, multiprocessing, os, sqlite3, ssl, subprocess, tempfile, threading

def double(x): return 2 * x

async def main():
    child = await asyncio.create_subprocess_exec('echo', 'async', stdout=subprocess.PIPE)
    return (await child.communicate())[0].decode().strip()

if __name__ == '__main__':
    thread = threading.Thread(target=double, args=(1,)); thread.start(); thread.join()
    with multiprocessing.Pool(2) as pool: doubled = pool.map(double, [1, 2])
    base = sqlite3.connect('base'); base.execute('create table t(x)'); base.commit()
    with tempfile.TemporaryDirectory() as place: os.makedirs(place + '/a/b')
    print(json.dumps([doubled, asyncio.run(main()), subprocess.check_output(['echo', 'sub'], text=True).strip()]))
`;
    writeFileSync(join(directory, 'script.py'), script);
    expect(host.run(filter, ['python3', 'script.py'], directory)).toBe('[[2, 4], "async", "sub"]\n');
  });

  it('node runs workers, child processes, file watches and WebAssembly', () => {
    const script = `
      const { Worker } = require('node:worker_threads');
      const { execFileSync, fork } = require('node:child_process');
      const fs = require('node:fs');
      if (process.argv[2] === 'child') { process.send('forked'); process.disconnect(); return; }
      const watcher = fs.watch('.', (event, name) => {
        watcher.close();
        fork(__filename, ['child']).on('message', (message) => {
          new Worker('require("node:worker_threads").parentPort.postMessage("worked")', { eval: true })
            .on('message', (worked) => {
              const module = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
              fs.promises.readFile(__filename).then(() =>
                console.log(name, message, worked, module instanceof WebAssembly.Module, execFileSync('echo', ['sub'], { encoding: 'utf8' }).trim()));
            });
        });
      });
      fs.writeFileSync('watched', '');
    `;
    const directory = host.emptyDirectory();
    writeFileSync(join(directory, 'script.cjs'), script);
    expect(host.run(filter, [process.execPath, 'script.cjs'], directory)).toBe('watched forked worked true sub\n');
  });

  it('npm runs a script of a package', (context) => {
    const npm = join(process.execPath, '..', '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js');
    context.skip(!existsSync(npm), 'needs the npm that comes with node');
    const directory = host.emptyDirectory();
    writeFileSync(join(directory, 'package.json'), '{"name":"p","version":"1.0.0","scripts":{"test":"node -p 6*7"}}');
    expect(host.run(filter, [process.execPath, npm, 'test', '--silent'], directory)).toBe('42\n');
  });

  it('make and gcc build a program, which runs', (context) => {
    context.skip(!hasProgram('make') || !hasProgram('gcc'), 'needs make and gcc');
    const directory = host.emptyDirectory();
    writeFileSync(join(directory, 'hello.c'), '#include <stdio.h>\nint main(void) { puts("hello, world"); }\n');
    writeFileSync(
      join(directory, 'Makefile'),
      'all: hello\n\t@./hello\nhello: hello.o\n\t@gcc -flto -o $@ $<\nhello.o: hello.c\n\t@gcc -O2 -flto -c $<\n',
    );
    expect(host.run(filter, ['make', '-s', '-j2'], directory)).toBe('hello, world\n');
  });

  it('curl says what it is, and that the network is refused', (context) => {
    context.skip(!hasProgram('curl'), 'needs curl');
    expect(host.run(filter, ['curl', '--version'])).toMatch(/^curl \d/);
    expect(host.run(filter, ['curl', '-sS', 'http://127.0.0.1:1/'])).toMatch(/^7: curl: \(7\) /);
  });

  it.for([
    { program: 'jq', args: ['-n', '-c', '{a: [1, 2] | add}'], output: '{"a":3}\n' },
    { program: 'perl', args: ['-e', 'print join(",", map { $_ * 2 } 1 .. 3)'], output: '2,4,6' },
    { program: 'awk', args: ['BEGIN { "echo piped" | getline line; print line }'], output: 'piped\n' },
  ])('$program runs', ({ program, args, output }, context) => {
    context.skip(!hasProgram(program), `needs ${program}`);
    expect(host.run(filter, [program, ...args])).toBe(output);
  });

  it('a program that is granted TCP fetches a page over IPv4', async (context) => {
    context.skip(!hasProgram('curl'), 'needs curl');
    const server = createServer((_request, response) => response.end('page'));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    try {
      const tcp = host.filterFor({ ...nothing, tcp: true });
      const fetched = await host.start(tcp, ['curl', '-sS', `http://127.0.0.1:${port}/`]);
      const refused = await host.start(filter, ['curl', '-sS', `http://127.0.0.1:${port}/`]);
      expect([fetched, refused.slice(0, 2)]).toEqual(['page', '7:']);
    } finally {
      server.close();
    }
  });

  it('a program that is granted all of it serves itself over TCP and over a UNIX socket', () => {
    const script = `
      const http = require('node:http');
      const fetchFrom = (at) => new Promise((done) => {
        const server = http.createServer((request, response) => response.end('served')).listen(at, () => {
          const address = server.address();
          const target = typeof address === 'string' ? { socketPath: address } : { host: '127.0.0.1', port: address.port };
          http.get({ ...target, path: '/', agent: false }, (response) =>
            response.on('data', (text) => done(String(text))).on('end', () => server.close()));
        });
      });
      fetchFrom({ host: '127.0.0.1', port: 0 }).then(async (first) => console.log(first, await fetchFrom({ path: './socket' })));
    `;
    const all = host.filterFor({ ...nothing, tcp: true, unixSockets: true, listen: true });
    expect(host.run(all, [process.execPath, '-e', script])).toBe('served served\n');
    expect(host.run(filter, [process.execPath, '-e', script])).toMatch(/EPERM|EAFNOSUPPORT/);
  });

  it('a child cannot lay the filter aside', () => {
    const status = bash("bash -c \"grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t\\n'\"");
    expect(status).toBe('NoNewPrivs:1Seccomp:2');
    expect(bash('unshare --user true 2>&1 || echo refused')).toMatch(/refused\n$/);
  });
});
