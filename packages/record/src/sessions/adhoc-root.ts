/** The workspaces of sessions that are not kept beside a manifest. */

import { basename, join } from 'node:path';

import { sha256Hex } from '@svc/kit/sha256.ts';

/** One for all folders, so that their journals are kept to `trace.keep` together (docs/adr/workdir.md "A folder is shown read only"). */
export function adhocRoot(home: string): string {
  return join(home, '.svc', 'adhoc');
}

/** The one of a folder that cannot be written in; `directory` is absolute. */
export function closedFolderRoot(home: string, directory: string): string {
  const name = basename(directory)
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, 64);
  return join(home, '.svc', 'folders', `${name}-${sha256Hex(directory).slice(0, 16)}`);
}
