// @ts-check
// Installs the programs and libraries of others that are compared with.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = new URL('../', import.meta.url);

/** @type {Promise<void> | null} */
let installing = null;

/**
 * Resolves once `bench/node_modules` holds the peers of `bench/package.json` in the versions that it names; installs them when it does not.
 * The project itself does without them.
 * @returns {Promise<void>}
 */
export function installPeers() {
  installing ??= install();
  return installing;
}

async function install() {
  if (await areInstalled()) return;
  const args = ['ci', '--prefix', fileURLToPath(folder), '--ignore-scripts', '--no-audit', '--no-fund'];
  try {
    await promisify(execFile)('npm', args);
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`the peers cannot be installed (npm ${args.join(' ')}): ${said}`, { cause: error });
  }
}

async function areInstalled() {
  const { dependencies } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
  const installed = await Promise.all(
    Object.entries(dependencies).map(async ([name, version]) => (await installedVersion(name)) === version),
  );
  return installed.every(Boolean);
}

/**
 * @param {string} name
 * @returns {Promise<string | null>}
 */
async function installedVersion(name) {
  try {
    return JSON.parse(await readFile(new URL(`node_modules/${name}/package.json`, folder), 'utf8')).version;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
