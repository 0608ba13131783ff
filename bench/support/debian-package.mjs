// @ts-check
// Sees to it that a program of Debian is there to compare with.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { environment } from './capsule.mjs';

const run = promisify(execFile);

/** Where Debian has its servers is often not on the path of a user. */
export const pathWithSystem = `${environment.PATH}:/usr/sbin`;

/**
 * What a program on this machine says of its version; Debian's package is installed when it is missing and we are root.
 * @typedef {{ program: string, versionFlag: string, debianPackage: string }} Installed
 * @param {Installed} installed
 * @returns {Promise<string>}
 */
export async function installedVersion({ program, versionFlag, debianPackage }) {
  const there = await versionOf(program, versionFlag);
  if (there !== null) return there;
  await installDebianPackage(debianPackage);
  const installed = await versionOf(program, versionFlag);
  if (installed === null) throw new Error(`${program} was installed and is not there`);
  return installed;
}

/** @param {string} name */
export async function installDebianPackage(name) {
  if (process.getuid?.() !== 0) throw new Error(`${name} is not installed, and only root may install it`);
  try {
    await run('apt-get', ['install', '--yes', '--no-install-recommends', name], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    throw new Error(`${name} cannot be installed: ${said || String(error)}`, { cause: error });
  }
}

/**
 * @param {string} program
 * @param {string} versionFlag
 * @returns {Promise<string | null>}
 */
async function versionOf(program, versionFlag) {
  try {
    const { stdout, stderr } = await run(program, [versionFlag], { env: { ...process.env, PATH: pathWithSystem } });
    return (stdout || stderr).trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
