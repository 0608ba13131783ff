// Fuzzes the plan parser with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer; needs clang.
// npm run fuzz:native [-- <seconds>]
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const seconds = Number(process.argv[2] ?? '60');
const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'));
const [target, corpus] = [join(folder, 'plan-fuzz'), join(folder, 'corpus')];

/** Words of well-formed plans to begin with. */
const seeds = [
  'cwd /',
  'unshare user,mount,pid map 0 0 tmp 14 4096 /tmp bind 7 /usr /usr symlink usr/bin /bin proc 15 /proc cwd /',
  'id 1 1 unshare user,net,uts hostname h listen 80 cwd / limit 7 1 2 landlock 0xf 3 3 allow 4 /usr port 2 443',
  'cgroup /c unshare mount,ipc,cgroup,net loopback tmpfs 2 1 /a directory /b/c cwd /b/c',
  'execs 7 program git program ./deploy cwd /',
];

function run(command, args) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (error !== undefined) throw new Error(`${command} cannot be run: ${error.message}`);
  return status ?? 1;
}

try {
  mkdirSync(corpus);
  for (const [at, seed] of seeds.entries()) {
    const words = ['svc-launch-plan', '1', ...seed.split(' '), 'end'];
    writeFileSync(join(corpus, `seed-${at}`), words.map((word) => `${word}\0`).join(''));
  }
  const sanitize = ['-std=c11', '-g', '-O1', '-fsanitize=fuzzer,address,undefined', '-fno-sanitize-recover=all'];
  const built = run('clang', [...sanitize, '-o', target, join(here, 'plan-fuzz.c'), join(here, '../plan.c')]);
  const limits = [`-max_total_time=${seconds}`, '-max_len=8192', '-timeout=5', '-print_final_stats=1'];
  const dictionary = `-dict=${join(here, 'plan.dict')}`;
  // What breaks it is kept where the caller is.
  process.exitCode = built || run(target, [...limits, dictionary, '-artifact_prefix=./', corpus]);
} finally {
  rmSync(folder, { recursive: true });
}
