/** Builds programs that are written in Go. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../../node_modules/.cache/go-programs', import.meta.url));

/** A program that was built, or why it could not be, for a skip. */
export type GoProgram =
  | { readonly path: string; readonly missing: null }
  | { readonly path: null; readonly missing: string };

/** Installs a program of a Go module once. What another project's tool says of ours is worth the minute that this takes. */
export function goProgram(packagePath: string, version: string): GoProgram {
  const bin = join(cache, `${packagePath.replaceAll('/', '+')}@${version}`);
  const name = packagePath.split('/').at(-1) ?? '';
  return built(join(bin, name), ['install', `${packagePath}@${version}`], { GOBIN: bin });
}

/** The same of a program that takes half an hour to build: it is built only if `BUILD_SLOW` is set, as `npm run test:long` does. */
export function slowGoProgram(packagePath: string, version: string): GoProgram {
  const name = packagePath.split('/').at(-1) ?? '';
  const isBuilt = existsSync(join(cache, `${packagePath.replaceAll('/', '+')}@${version}`, name));
  if (isBuilt || process.env['BUILD_SLOW'] !== undefined) return goProgram(packagePath, version);
  return { path: null, missing: `needs ${name}, which go builds in half an hour if BUILD_SLOW is set` };
}

/** Builds the program in a folder of this checkout, which has a `go.mod`. */
export function ownGoProgram(folder: string): GoProgram {
  const path = join(cache, folder.split('/').at(-1) ?? '');
  return built(path, ['build', '-C', folder, '-o', path, '.'], {});
}

function built(path: string, args: readonly string[], env: Readonly<Record<string, string>>): GoProgram {
  const name = path.split('/').at(-1) ?? '';
  if (spawnSync('go', ['version']).status !== 0) return { path: null, missing: `needs go to build ${name}` };
  mkdirSync(cache, { recursive: true });
  // When several tests want it at once, one of them builds it.
  const script = '[ -x "$0" ] || go "$@"';
  const build = ['flock', join(cache, 'lock'), 'sh', '-c', script, path, ...args];
  const { status } = spawnSync(build[0] ?? '', build.slice(1), { env: { ...process.env, ...env, GOFLAGS: '' } });
  return status === 0 && existsSync(path)
    ? { path, missing: null }
    : { path: null, missing: `needs ${name}: go could not build it` };
}
