/** Makes a folder and a home for a test. */

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { warmHome } from './warm-home.ts';

/** A folder with a capsule in it, and a home of its own; both gone after `remove`. */
export interface Workspace {
  readonly folder: string;
  readonly home: string;
  /** Writes a file below the folder, directories included. */
  write(path: string, text: string): void;
  remove(): void;
}

/** `files` are paths below the folder to their text. `isFirst` leaves its home empty, for a test of what svc makes there when it runs for the first time. */
export function makeWorkspace(
  files: Readonly<Record<string, string>>,
  { isFirst = false }: { readonly isFirst?: boolean } = {},
): Workspace {
  const root = mkdtempSync(join(tmpdir(), 'svc-workspace-'));
  const folder = join(root, 'project');
  const home = join(root, 'home');
  mkdirSync(folder);
  mkdirSync(home);
  if (!isFirst) warmHome(home);

  function write(path: string, text: string): void {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }

  for (const [path, text] of Object.entries(files)) write(path, text);
  return { folder, home, write, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** Another workspace that holds what this one holds: for a test of what a session left that many tests read. */
export function copyWorkspace({ folder, home }: Workspace): Workspace {
  const copy = makeWorkspace({}, { isFirst: true });
  const options = { recursive: true, preserveTimestamps: true, verbatimSymlinks: true };
  cpSync(folder, copy.folder, options);
  cpSync(home, copy.home, options);
  return copy;
}
