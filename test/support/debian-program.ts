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
    if (spawnSync('apt-get', ['-q', ...args], { env }).status !== 0) return `${missing}: apt-get ${args[0]} failed`;
  }
  return isThere(program) ? null : missing;
}

function isThere(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0;
}
