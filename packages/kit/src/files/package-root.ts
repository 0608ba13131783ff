/** Finds the folder that this program is installed in. */

import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { unlessErrno } from './unless-refused.ts';

/**
 * The directory of the installed package that the module belongs to: the nearest one above whose package.json offers `svc`. Of a module that lies in no
 * such package, the `@svc/svc` that it finds installed, links resolved.
 */
export function findPackageRoot(modulePath: string): string {
  const start = dirname(modulePath);
  for (const place of ['', 'node_modules/@svc/svc']) {
    for (let above = start; ; above = dirname(above)) {
      const directory = join(above, place);
      if (offersSvc(join(directory, 'package.json'))) return place === '' ? directory : realpathSync(directory);
      if (above === dirname(above)) break;
    }
  }
  throw new Error(`no package root above ${start}`);
}

function offersSvc(packageJson: string): boolean {
  const text = unlessErrno(['ENOENT', 'ENOTDIR'], () => readFileSync(packageJson, 'utf8'), '{}');
  const { bin } = JSON.parse(text) as { readonly bin?: { readonly svc?: unknown } };
  return typeof bin?.svc === 'string';
}
