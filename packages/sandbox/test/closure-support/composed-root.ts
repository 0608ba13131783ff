import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import type { CollectedFiles } from '../../src/closure/file-collection.ts';

/** Options of `unshare` for a mount namespace of one's own; an ordinary user needs one of users as well. */
export const ownMounts: readonly string[] =
  process.getuid?.() === 0 ? ['-m', '--propagation', 'private'] : ['-r', '-m', '--propagation', 'private'];

export interface RootedCommand {
  readonly argv: readonly string[];
  readonly files: readonly CollectedFiles[];
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a command in a root of its own: `files`, the workdir, `/proc`, a few devices, an empty `/tmp`, nothing else. */
export function runInRoot({ argv, files, workdir, env }: RootedCommand): { exitCode: number | null; output: string } {
  const root = mkdtempSync(join(tmpdir(), 'composed-root-'));
  try {
    const mounts = [
      'set -e',
      `mount -t tmpfs none ${quote(root)}`,
      ...composed(root, files),
      ...surroundings(root, workdir),
    ];
    const script = [...mounts, `exec unshare --root=${quote(root)} --wd=${quote(workdir)} "$@"`].join('\n');
    const ran = spawnSync('unshare', [...ownMounts, '/bin/sh', '-c', script, 'sh', ...argv], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { exitCode: ran.status, output: ran.stdout + ran.stderr };
  } finally {
    // The mounts went with their namespace; what is left is an empty directory.
    rmSync(root, { recursive: true });
  }
}

function composed(root: string, files: readonly CollectedFiles[]): string[] {
  const bound = new Set([...files.flatMap(({ read }) => read), ...files.flatMap(({ execute }) => execute)]);
  const isInside = (path: string): boolean => {
    for (let above = dirname(path); above !== '/'; above = dirname(above)) if (bound.has(above)) return true;
    return false;
  };
  const links = new Map(files.flatMap((each) => each.links.map(({ path, target }) => [path, target] as const)));
  return [
    ...[...bound].filter((path) => !isInside(path)).map((path) => bind(path, `${root}${path}`)),
    ...[...links]
      .filter(([path]) => !isInside(path))
      .map(([path, target]) => `mkdir -p ${quote(root + dirname(path))}; ln -s ${quote(target)} ${quote(root + path)}`),
  ];
}

function surroundings(root: string, workdir: string): string[] {
  const devices = ['null', 'zero', 'urandom'].map((name) => bind(`/dev/${name}`, `${root}/dev/${name}`));
  return [
    `mkdir -p ${quote(`${root}/tmp`)}; chmod 1777 ${quote(`${root}/tmp`)}`,
    ...devices,
    bind(workdir, root + workdir),
    `mkdir ${quote(`${root}/proc`)}; mount --rbind /proc ${quote(`${root}/proc`)}`,
  ];
}

function bind(from: string, to: string): string {
  const place = statSync(from).isDirectory()
    ? `mkdir -p ${quote(to)}`
    : `mkdir -p ${quote(dirname(to))}; : >${quote(to)}`;
  return `${place}; mount --bind ${quote(from)} ${quote(to)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
