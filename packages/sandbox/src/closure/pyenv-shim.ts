import { basename, dirname } from 'node:path/posix';

import type { FileCollection } from './file-collection.ts';
import type { PathWalk } from './path-walk.ts';

/** A script by which pyenv stands for the programs of several versions. */
export interface PyenvShim {
  readonly root: string;
  /** The directory of the shims, without links. */
  readonly directory: string;
  readonly behind: ShimProgram;
}

export type ShimProgram =
  | { readonly kind: 'program'; readonly path: string }
  /** The one that the search path leads to past the shims. */
  | { readonly kind: 'system' }
  /** The global version is not there, or has no such program. */
  | { readonly kind: 'none' };

const maxShimBytes = 4096;
const maxVersions = 16;

/**
 * Null for everything but a shim. Only pyenv's global `version` file is followed: `.python-version` and `PYENV_VERSION`
 * are the agent's to write. What a shim would do beyond that, running bash and pyenv, needs no grant then.
 */
export function resolvePyenvShim(files: FileCollection, walk: PathWalk): PyenvShim | null {
  const format = files.format(walk);
  if (format?.kind !== 'script' || !/\bbash$/.test(`${format.interpreter} ${format.argument ?? ''}`.trim()))
    return null;
  const text = smallText(files, walk.path) ?? '';
  const root = /^export PYENV_ROOT="(\/[^"$`\\]+)"$/m.exec(text)?.[1];
  if (root === undefined || !/^exec "\/[^"$`\\]*\/pyenv" exec "\$program" "\$@"$/m.test(text)) return null;
  return { root, directory: dirname(walk.path), behind: globalProgram(files, root, basename(walk.path)) };
}

function globalProgram(files: FileCollection, root: string, name: string): ShimProgram {
  const text = smallText(files, `${root}/version`);
  if (text === null) return { kind: 'system' };
  const versions = text
    .replaceAll(/#.*/g, '')
    .split(/[\s:]+/)
    .filter((version) => /^\w[\w.+-]*$/.test(version));
  for (const version of versions.slice(0, maxVersions)) {
    if (version === 'system') return { kind: 'system' };
    const installed = installedVersion(files, `${root}/versions`, version.replace(/^python-/, ''));
    const path = `${installed}/bin/${name}`;
    const walk = installed === null ? null : files.find(path);
    if (walk?.kind === 'file' && walk.executable) return { kind: 'program', path };
  }
  return { kind: 'none' };
}

/** A version by its full name, or the newest that a prefix such as `3.12` stands for. */
function installedVersion(files: FileCollection, directory: string, version: string): string | null {
  if (files.find(`${directory}/${version}`)?.kind === 'directory') return `${directory}/${version}`;
  const matching = (files.host.list(directory) ?? []).filter(
    (name) => name.startsWith(`${version}.`) && /^\d+(?:\.\d+)*$/.test(name),
  );
  const newest = matching.sort((one, other) => one.localeCompare(other, 'en', { numeric: true })).at(-1);
  return newest === undefined ? null : `${directory}/${newest}`;
}

function smallText(files: FileCollection, path: string): string | null {
  const file = files.host.open(path);
  if (file === null) return null;
  try {
    return file.size > maxShimBytes ? null : file.read(0, file.size).toString('utf8');
  } finally {
    file.close();
  }
}
