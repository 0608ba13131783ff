// @ts-check
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * The version of `bwrap` on this machine; Debian's package is installed when it is missing and we are root.
 * @returns {Promise<string>}
 */
export async function installBubblewrap() {
  const there = await versionOf();
  if (there !== null) return there;
  if (process.getuid?.() !== 0) throw new Error('bwrap is not installed, and only root may install it');
  const options = ['--yes', '--no-install-recommends'];
  try {
    await run('apt-get', ['install', ...options, 'bubblewrap'], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    throw new Error(`bwrap cannot be installed: ${said || String(error)}`, { cause: error });
  }
  const installed = await versionOf();
  if (installed === null) throw new Error('bwrap was installed and is not there');
  return installed;
}

/** @returns {Promise<string | null>} */
async function versionOf() {
  try {
    return (await run('bwrap', ['--version'])).stdout.trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
