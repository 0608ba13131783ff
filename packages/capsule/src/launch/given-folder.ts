/** Decides whether the current folder may be given to an agent. */

import { lstatSync, realpathSync } from 'node:fs';
import { basename, isAbsolute, join, sep } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { listedHome } from '@svc/kit/files/home-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { closedFolderAround } from '@svc/kit/files/masked-names.ts';
import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import { systemFolder } from '@svc/kit/files/system-folder.ts';

/**
 * The folder with links resolved. `E-CAP-022` for one that holds the home of the user, keys or what `svc` keeps, and for one inside those
 * (docs/adr/workdir.md "A folder is shown read only").
 */
export function givenFolder(cwd: string, home: string): string {
  const folder = realFolder(cwd);
  const refused = refusalOf(folder, home);
  if (refused === null) return folder;
  throw new Diagnostic('E-CAP-022', `${quoted(folder)} is not given to an agent: it ${refused}`, {
    hint: 'go to the folder of one project, or start with an empty one',
  });
}

/** As it stands in lines for a person. */
export function folderName(folder: string): string {
  return `.${sep}${basename(folder)}`;
}

function realFolder(cwd: string): string {
  try {
    return realpathSync(cwd);
  } catch (error) {
    throw ioFault(error, `the folder ${cwd} cannot be opened`);
  }
}

/** Why a folder, links resolved, is given to no agent, as the end of a sentence that begins with "it"; null where nothing is against it. */
export function refusalOf(folder: string, home: string): string | null {
  if (folder === sep) return 'is the root of the file system';
  // HOME may be set to another than the one that holds what is to be kept.
  const homes = [home, listedHome()].filter(isAbsolute).map(realPath);
  if (homes.includes(folder)) return 'is your home folder';
  if (homes.some((each) => isBeneath(folder, each))) return 'holds your home folder';
  const inside = closedFolderAround(folder);
  if (inside !== undefined) return `lies in a folder named ${inside}`;
  const system = process.getuid?.() === 0 ? systemFolder(folder) : null;
  if (system !== null) return system;
  const own = realPath(join(home, '.svc'));
  if (isBeneath(own, folder)) return 'lies in what svc keeps for you';
  if (isBeneath(folder, own)) return 'holds what svc keeps for you';
  try {
    return lstatSync(join(folder, '.ssh'), { throwIfNoEntry: false }) === undefined ? null : 'holds .ssh';
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return `cannot be looked into by this user: ${systemReason(error)}`;
  }
}
