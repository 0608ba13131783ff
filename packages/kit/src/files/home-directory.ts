/** Finds the home directory of the user. */

import { userInfo } from 'node:os';
import { accessSync, constants, lstatSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

import { errorCode, isSystemError, systemReason } from '../diagnostics/system-reason.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { quoted } from '../diagnostics/printable.ts';
import { unlessRefused } from './unless-refused.ts';

const homeHint =
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

/** Refuses with `E-IO-001` a home in which nothing can be kept: `/`, or one that is not there, as containers give it to users of any number. */
export function needsHome(home: string): void {
  let place = join(home, '.svc');
  while (unlessRefused(() => lstatSync(place, { throwIfNoEntry: false }), undefined) === undefined)
    place = dirname(place);
  try {
    // A file in the place of a folder can be written, and nothing below it.
    accessSync(`${place}/.`, constants.W_OK);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const problem = `HOME is ${quoted(home)}, and svc can keep nothing there: ${place} cannot be written: ${systemReason(error)}`;
    throw new Diagnostic('E-IO-001', problem, { hint: homeHint, cause: error });
  }
}
