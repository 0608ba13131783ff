// @ts-check
// Runs the tests that need a real S3 service: Ceph's gateway, from Debian's packages. Installs these where they are missing and that is
// possible; with --installed it leaves the machine as it is. Says so and ends well where there is nothing to test with.

import { spawnSync } from 'node:child_process';

const programs = ['ceph', 'ceph-authtool', 'monmaptool', 'ceph-mon', 'ceph-osd', 'radosgw', 'radosgw-admin'];
const packages = ['ceph-common', 'ceph-mon', 'ceph-osd', 'radosgw'];

const reason = present() ? null : whyNotInstalled();
if (reason !== null) {
  console.log(`test:s3 skipped: ${reason}`);
} else {
  const { status } = spawnSync('npx', ['vitest', 'run', '--config', 'vitest.s3.config.ts'], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

function present() {
  return programs.every((program) => spawnSync(program, ['--version']).status === 0);
}

/** Null once they are installed. */
function whyNotInstalled() {
  const missing = `the packages ${packages.join(', ')} are not installed`;
  if (process.argv.includes('--installed')) return missing;
  if (process.getuid?.() !== 0) return `${missing}, and only root can install them`;
  if (spawnSync('apt-get', ['--version']).status !== 0) return `${missing}, and there is no apt-get`;
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    const { status } = spawnSync('apt-get', ['-q', ...args], {
      stdio: 'inherit',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    if (status !== 0) return `apt-get ${args[0]} failed`;
  }
  return present() ? null : `${missing} after their installation`;
}
