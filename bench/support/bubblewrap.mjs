// @ts-check
// Sees to it that bubblewrap is there to compare with.
import { installedVersion } from './debian-package.mjs';

/**
 * The version of `bwrap` on this machine; Debian's package is installed when it is missing and we are root.
 * @returns {Promise<string>}
 */
export function installBubblewrap() {
  return installedVersion({ program: 'bwrap', versionFlag: '--version', debianPackage: 'bubblewrap' });
}
