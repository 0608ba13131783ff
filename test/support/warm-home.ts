/** Gives a home of a test what svc keeps in a home in which it ran before. */

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Where components stay compiled from one run of the tests to the next. */
export const fixtureCache: string = join(root, 'test', '.tmp', 'compiled');

/**
 * Compiled components are in one folder for all tests, and what was found of the host is a copy. A start without them takes a sixth longer, which
 * only tests of the cache are about. They belong to whoever runs the tests: svc as another user makes its own.
 */
export function warmHome(home: string): void {
  const cache = join(home, '.svc', 'cache');
  const components = join(fixtureCache, 'components');
  mkdirSync(components, { recursive: true });
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  symlinkSync(components, join(cache, 'components'));
  const found = foundOfHost();
  if (found !== null) copyFileSync(found, join(cache, 'containment.json'));
}

let looked: string | null | undefined;

/** The file that `svc doctor` wrote since this machine and the helper are as they are; null where it writes none. */
function foundOfHost(): string | null {
  if (looked === undefined) looked = look();
  return looked;
}

function look(): string | null {
  const helper = join(root, 'dist', 'native', `linux-${process.arch}`, 'svc-launch');
  if (!existsSync(helper)) return null;
  const { ino, mtimeMs } = statSync(helper);
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const home = join(root, 'test', '.tmp', 'hosts', `${boot}-${process.getuid?.()}-${ino}-${mtimeMs}`);
  const found = join(home, '.svc', 'cache', 'containment.json');
  if (!existsSync(found)) {
    mkdirSync(home, { recursive: true });
    spawnSync(process.execPath, [join(root, 'bin', 'svc.cjs'), 'doctor'], {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home },
    });
  }
  return existsSync(found) ? found : null;
}
