/** Makes a folder and a home for a test. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder with a capsule in it, and a home of its own; both gone after `remove`. */
export interface Workspace {
  readonly folder: string;
  readonly home: string;
  /** Writes a file below the folder, directories included. */
  write(path: string, text: string): void;
  remove(): void;
}

/** `files` are paths below the folder to their text. */
export function makeWorkspace(files: Readonly<Record<string, string>>): Workspace {
  const root = mkdtempSync(join(tmpdir(), 'svc-workspace-'));
  const folder = join(root, 'project');
  const home = join(root, 'home');
  mkdirSync(folder);
  mkdirSync(home);

  function write(path: string, text: string): void {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }

  for (const [path, text] of Object.entries(files)) write(path, text);
  return { folder, home, write, remove: () => rmSync(root, { recursive: true, force: true }) };
}
