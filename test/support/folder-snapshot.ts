/** Checks whether anything was written into folders. */

import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Workspace } from './workspace.ts';

/**
 * Every file and directory of a workspace and its home with the time of its last change: making and removing something again
 * changes the directory it was in, so equal snapshots mean that nothing was written in between.
 */
export function snapshot({ folder, home }: Workspace): Readonly<Record<string, string>> {
  const paths = [folder, home].flatMap((root) => {
    const below = readdirSync(root, { recursive: true, encoding: 'utf8' });
    return ['.', ...below].map((path) => join(root, path));
  });
  return Object.fromEntries(
    paths.map((path) => {
      const { mtimeNs, ctimeNs, size } = lstatSync(path, { bigint: true });
      return [path, `${size} ${mtimeNs} ${ctimeNs}`];
    }),
  );
}
