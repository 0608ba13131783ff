/** Says how firmly the paths of a component are held inside its directories on this host. */

import { existsSync } from 'node:fs';

/**
 * How paths of components are kept inside their directories on this host. `descriptor-walk`: every step starts at an open
 * directory and follows nothing, so nothing that happens to a path meanwhile leads out. `realpath-check`: on hosts without
 * /proc the path is checked before it is used, which another process can win a race against.
 */
export type FilesystemGuard = 'descriptor-walk' | 'realpath-check';

export function filesystemGuard(): FilesystemGuard {
  return process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptor-walk' : 'realpath-check';
}
