/** Gives a home of a test what svc keeps in a home in which it ran before. */

import { spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Where components stay compiled from one run of the tests to the next. */
export const fixtureCache: string = join(root, 'test', '.tmp', 'compiled');

/**
 * Compiled components are in one folder for all tests, and what was found of the host is a copy. A start without them takes a sixth longer, which
 * only tests of the cache are about. `uid` is the user that svc is to run as; null for the user of the tests.
 */
export function warmHome(home: string, uid: number | null = null): void {
  const cache = join(home, '.svc', 'cache');
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const components = join(cache, 'components');
  if (!existsSync(components)) {
    mkdirSync(join(fixtureCache, 'components'), { recursive: true });
    symlinkSync(join(fixtureCache, 'components'), components);
  }
  const found = foundOfHost(uid);
  if (found !== null) copyFileSync(found, join(cache, 'containment.json'));
}

/** By user. */
const looked = new Map<number | null, string | null>();

/** The file that `svc doctor` of this user wrote since this machine and the helper are as they are; null where it writes none. */
function foundOfHost(uid: number | null): string | null {
  const known = looked.get(uid);
  if (known !== undefined) return known;
  const found = look(uid);
  looked.set(uid, found);
  return found;
}

function look(uid: number | null): string | null {
  const helper = join(root, 'dist', 'native', `linux-${process.arch}`, 'svc-launch');
  if (!existsSync(helper)) return null;
  const { ino, mtimeMs } = statSync(helper);
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const home = join(root, 'test', '.tmp', 'hosts', `${boot}-${uid ?? 'own'}-${ino}-${mtimeMs}`);
  const found = join(home, '.svc', 'cache', 'containment.json');
  if (existsSync(found)) return found;
  mkdirSync(home, { recursive: true });
  if (uid !== null) chownSync(home, uid, uid);
  spawnSync(process.execPath, [join(root, 'bin', 'svc.cjs'), 'doctor'], {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home },
    ...(uid === null ? {} : { uid, gid: uid }),
  });
  return existsSync(found) ? found : null;
}
