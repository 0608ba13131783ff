/** Gives each test of a file or a `describe` a folder of its own. */

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach } from 'vitest';

/** Its name begins with `name`, and it is gone after the test; `use` takes it before each. */
export function eachFolder(name: string, use: (folder: string) => void | Promise<void>): void {
  let folder = '';
  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), name)));
    await use(folder);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
}
