/** Keeps out of git what sessions leave beside a manifest (docs/adr/workdir.md "The state of a workspace stays out of git"). */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

/** Ignores this file too: a capsule that ran in a folder leaves nothing for git to report. */
const ignored = '*\n!config.yaml\n';

/** Called for the first session of a workspace, with its `.svc`. Keeps an existing file; writes nothing where the system refuses. */
export function keepOutOfGit(directory: string): void {
  unlessRefused(() => writeFileSync(join(directory, '.gitignore'), ignored, { flag: 'wx' }), undefined);
}
