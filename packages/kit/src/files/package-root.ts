/** Finds the folder that this program is installed in. */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { unlessErrno } from './unless-refused.ts';

/** The directory of the installed package that the module belongs to: the nearest one above whose package.json offers `svc`. */
export function findPackageRoot(modulePath: string): string {
  const start = dirname(modulePath);
  for (let directory = start; ; directory = dirname(directory)) {
    if (offersSvc(join(directory, 'package.json'))) return directory;
    if (directory === dirname(directory)) throw new Error(`no package root above ${start}`);
  }
}

function offersSvc(packageJson: string): boolean {
  const text = unlessErrno(['ENOENT', 'ENOTDIR'], () => readFileSync(packageJson, 'utf8'), '{}');
  const { bin } = JSON.parse(text) as { readonly bin?: { readonly svc?: unknown } };
  return typeof bin?.svc === 'string';
}
