// @ts-check
// Brings programs that try a capsule, and the newer Node that they need, from the package registry.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
const nodePackage = `node-${process.platform}-${process.arch}`;

/**
 * Installs what is not there yet, and gives what runs one of the programs to its end, a minute at the most. Ends the process where they cannot be had.
 * @param {string} name Of the folder below `node_modules/.cache`.
 * @param {Readonly<Record<string, string>>} packages Names and exact versions.
 */
export function bringTools(name, packages) {
  const folder = join(root, 'node_modules', '.cache', name);
  const node = join(folder, 'node_modules', nodePackage, 'bin', 'node');
  const wanted = Object.entries({ [nodePackage]: '24.21.0', ...packages });
  if (!wanted.every(([each]) => existsSync(join(folder, 'node_modules', each)))) {
    const args = ['install', '--no-save', '--ignore-scripts', '--no-package-lock', '--prefix', folder];
    const named = wanted.map(([each, version]) => `${each}@${version}`);
    if (spawnSync('npm', [...args, ...named], { stdio: 'inherit' }).status !== 0) process.exit(69);
  }
  /**
   * @param {string} program
   * @param {readonly string[]} args
   * @param {string} home Its home, and where it runs.
   */
  return async (program, args, home) => {
    const child = spawn(node, [join(folder, 'node_modules', '.bin', program), ...args], {
      cwd: home,
      env: { ...process.env, HOME: home, PATH: [dirname(node), process.env['PATH']].join(delimiter) },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += String(bytes)));
    const [status] = await once(child, 'close');
    return { status, output };
  };
}

/**
 * Says how a trial ended, with what was printed where it did not end well; whether it did.
 * @param {string} what
 * @param {boolean} holds
 * @param {string} output
 */
export function tell(what, holds, output) {
  console.log(`${holds ? 'ok    ' : 'FAILED'} ${what}`);
  if (!holds) console.log(output);
  return holds;
}
