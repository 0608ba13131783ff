/** Finds the home directory of the user. */

import { userInfo } from 'node:os';
import { isAbsolute } from 'node:path';

import { errorCode } from '../diagnostics/system-reason.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { quoted } from '../diagnostics/printable.ts';

export const homeHint =
  'set HOME to a folder that this user may write in: HOME=/tmp/home svc ..., or docker run -e HOME=/tmp/home';

/**
 * Where `.svc/` of the user lies: `HOME`, or what the system has for the user where that is not set or empty. `E-IO-001` when that is no
 * absolute path: another would be another with each current directory, and a workspace could bring its own.
 */
export function homeDirectory(home: string | undefined): string {
  const directory = home || listedHome();
  if (isAbsolute(directory)) return directory;
  const problem = home
    ? `HOME is ${quoted(home)}, which is no absolute path`
    : 'HOME is not set, and the system has no home for this user';
  throw new Diagnostic('E-IO-001', problem, { hint: homeHint });
}

/** What the system has for the user. Is empty where the user is not in its list of users, as in many containers. */
export function listedHome(): string {
  try {
    return userInfo().homedir;
  } catch (error) {
    if (errorCode(error) === 'ERR_SYSTEM_ERROR') return '';
    throw error;
  }
}
