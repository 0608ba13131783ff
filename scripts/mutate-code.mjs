// @ts-check
// Mutates the syntax of code without effects with StrykerJS, whose packages are in a folder of their own: nothing else needs them.
// npm run mutate:code [-- <files>...]

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'test', 'stryker');
const program = join(folder, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');

if (!existsSync(program)) run('npm', ['ci', '--prefix', folder]);
const files = process.argv.slice(2);
const only = files.length === 0 ? [] : ['--mutate', files.join(',')];
run(process.execPath, [program, 'run', join(folder, 'stryker.config.json'), ...only]);

/**
 * @param {string} command
 * @param {readonly string[]} args
 */
function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
