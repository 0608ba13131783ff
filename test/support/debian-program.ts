/** Sees to it that a program is there which a test needs, or says why it is not. */

import { spawnSync } from 'node:child_process';

/**
 * Why a program is not here, for a skip; null when it is. Where root runs on Debian, its package is installed first: what a machine lacks is not
 * what a test is about.
 */
export function whyMissing(program: string, packageName: string = program): string | null {
  if (isThere(program)) return null;
  const missing = `needs ${program}`;
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) return missing;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', packageName]]) {
    if (!isDone(args, env)) return `${missing}: apt-get ${args[0]} failed`;
  }
  return isThere(program) ? null : missing;
}

/** Another test may install something at the same time, and holds the lock meanwhile. */
function isDone(args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  for (let left = 10; left > 0; left -= 1) {
    const { status, stderr } = spawnSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', ...args], { env });
    if (status === 0) return true;
    if (!/lock/i.test(String(stderr))) return false;
    spawnSync('sleep', ['3']);
  }
  return false;
}

function isThere(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0;
}
