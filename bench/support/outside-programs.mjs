// @ts-check
// Installs programs of others from the registries of their languages, each in a folder of its own outside of the checkout.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Kept from run to run: some take many minutes to build. */
export const cacheFolder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'svc-bench');

/**
 * Builds the programs of a crate, with the dependencies that it was released with.
 * @param {{ crate: string, version: string, program: string }} wanted
 * @returns {Promise<string>} The path of the program.
 */
export async function installCrate({ crate, version, program }) {
  const root = join(cacheFolder, `${crate}-${version}`);
  const path = join(root, 'bin', program);
  if (!existsSync(path)) await run('cargo', ['install', crate, '--version', version, '--locked', '--root', root]);
  return path;
}

/**
 * Installs packages and runs no script of theirs.
 * @param {readonly string[]} packages Each with its version; the first one gives the folder its name.
 * @returns {Promise<string>} The folder of the packages.
 */
export async function installPackages([first = '', ...others]) {
  const folder = join(cacheFolder, first.replaceAll('/', '-'));
  const modules = join(folder, 'node_modules');
  if (!existsSync(join(modules, '.package-lock.json'))) {
    const args = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', first, ...others];
    await run('npm', args);
  }
  return modules;
}

/**
 * Runs an installer; rejects with the last that it said.
 * @param {string} file
 * @param {readonly string[]} args
 * @param {import('node:child_process').ExecFileOptions} [options]
 */
export async function run(file, args, options = {}) {
  try {
    const { stdout } = await promisify(execFile)(file, args, { maxBuffer: 64 * 1024 * 1024, ...options });
    return String(stdout).trim();
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').slice(-3) : [];
    throw new Error(`${file} ${args.slice(0, 2).join(' ')} failed: ${said.join(' ') || String(error)}`, {
      cause: error,
    });
  }
}
