/** Finds the home directory of the user. */

import { userInfo } from 'node:os';
import { isAbsolute } from 'node:path';

import { errorCode } from '../diagnostics/system-reason.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';

/**
 * Where `.svc/` of the user lies: `HOME`, or what the system has for the user where that is not set or empty. `E-IO-001` when that is no
 * absolute path: another would be another with each current directory, and a workspace could bring its own.
 */
export function homeDirectory(home: string | undefined): string {
  const directory = home || listedHome();
  if (isAbsolute(directory)) return directory;
  throw new Diagnostic('E-IO-001', 'HOME is not set to an absolute path');
}

/** Empty where the user is not in the system's list of users, as in many containers. */
function listedHome(): string {
  try {
    return userInfo().homedir;
  } catch (error) {
    if (errorCode(error) === 'ERR_SYSTEM_ERROR') return '';
    throw error;
  }
}
