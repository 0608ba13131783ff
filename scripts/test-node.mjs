// @ts-check
// npm run test:node -- <24|26> [<vitest file filter>...]: runs tests, by default those of the programs, on another version of node,
// which comes from the package registry. Says so and ends well where that version cannot be had.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** @type {Readonly<Record<string, string>>} */
const versions = { 24: '24.21.0', 26: '26.10.0' };

const [major = '', ...filters] = process.argv.slice(2);
const version = versions[major];
if (version === undefined) {
  console.error(`usage: npm run test:node -- <${Object.keys(versions).join('|')}> [<vitest file filter>...]`);
  process.exit(2);
}

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'node_modules', '.cache', `node-${version}`);
const packageName = `node-${process.platform}-${process.arch}`;
const node = join(folder, 'node_modules', packageName, 'bin', 'node');

const reason = isThere() ? null : whyNotInstalled();
if (reason !== null) {
  console.log(`test:node ${major} skipped: ${reason}`);
} else {
  const wanted = filters.length === 0 ? ['test/programs'] : filters;
  const { status } = spawnSync(node, [join(root, 'scripts', 'conformance.mjs'), ...wanted], {
    cwd: root,
    stdio: 'inherit',
    // What was built stays as it is: its code cache is for the version that built it.
    env: { ...process.env, SVC_TEST_DIST: 'built', PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` },
  });
  process.exitCode = status ?? 1;
}

function isThere() {
  return existsSync(node) && spawnSync(node, ['--version']).stdout.toString().trim() === `v${version}`;
}

/** Null once it is installed. */
function whyNotInstalled() {
  const wanted = `${packageName}@${version}`;
  const { status, stderr } = spawnSync(
    'npm',
    ['install', '--no-save', '--ignore-scripts', '--no-package-lock', '--prefix', folder, wanted],
    { encoding: 'utf8' },
  );
  if (status !== 0) return `npm install ${wanted} failed: ${stderr.trim().split('\n')[0] ?? 'no reason given'}`;
  return isThere() ? null : `${wanted} does not run here`;
}
