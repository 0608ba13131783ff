/** Reads below `/proc` what this process can see of itself, its control groups, mounts, number and group, and how many threads its user has. */

import { existsSync, readFileSync, readlinkSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

/** What this process knows of itself. */
export interface OwnGroupFacts {
  readonly pid: number;
  /** `/proc/self/cgroup`. */
  readonly membership: string;
  /** `/proc/self/mountinfo`. */
  readonly mounts: string;
}

/** Empty texts where the system has no such files. */
export function ownGroupFacts(): OwnGroupFacts {
  if (!existsSync('/proc/self/cgroup')) return { pid: 0, membership: '', mounts: '' };
  return {
    pid: Number(readlinkSync('/proc/self')),
    membership: readFileSync('/proc/self/cgroup', 'utf8'),
    mounts: readFileSync('/proc/self/mountinfo', 'utf8'),
  };
}

/**
 * The directory of the group that this process is in: of version 2 where `controller` is null, else of version 1 for that controller. Null
 * where that hierarchy is not mounted, or the group lies beyond what is.
 */
export function ownGroupDirectory(
  { membership, mounts }: Omit<OwnGroupFacts, 'pid'>,
  controller: string | null,
): string | null {
  const group = groupOf(membership, controller ?? '');
  if (group === null || group.startsWith('/..')) return null;
  for (const line of mounts.split('\n')) {
    if (!line.includes(' - cgroup')) continue;
    const [before = '', after = ''] = line.split(' - ');
    const [type, , options = ''] = after.split(' ');
    const isIt =
      controller === null ? type === 'cgroup2' : type === 'cgroup' && options.split(',').includes(controller);
    if (!isIt) continue;
    const [, , , root = '', directory = ''] = before.split(' ').map(unescapeOctal);
    const below = relative(root, group);
    if (below !== '..' && !below.startsWith('../')) return join(directory, below);
  }
  return null;
}

/** The hierarchy of version 2 has no controllers in its line. */
function groupOf(membership: string, controller: string): string | null {
  for (const line of membership.split('\n')) {
    const [, controllers, ...path] = line.split(':');
    if (controllers?.split(',').includes(controller)) return path.join(':');
  }
  return null;
}

/** The group by whose number files are made. */
export function ownGroupId(): number {
  return Number(/^Gid:\t\d+\t(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]);
}

/** Threads of all processes of a user, which is what the kernel holds against `RLIMIT_NPROC`. 0 if the system does not say. */
export function countThreads(uid: number): number {
  let threads = 0;
  for (const name of unlessRefused(() => readdirSync('/proc'), [])) {
    if (/^\d+$/.test(name)) threads += threadsOf(`/proc/${name}/status`, uid);
  }
  return threads;
}

function threadsOf(path: string, uid: number): number {
  // Empty where it has ended meanwhile, or is not ours to see.
  const status = unlessRefused(() => readFileSync(path, 'latin1'), '');
  const owner = /^Uid:\t(\d+)/m.exec(status)?.[1];
  return owner === String(uid) ? Number(/^Threads:\t(\d+)/m.exec(status)?.[1] ?? 1) : 0;
}

/**
 * File systems that can be mounted with other owners. Each can on every kernel on which a launch can have a root of its own at all; overlayfs cannot.
 */
const mappableTypes: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'tmpfs']);

interface Mount {
  readonly point: string;
  readonly type: string;
  /** The mount itself shows other owners than its file system already: the kernel does that once. */
  readonly isMapped: boolean;
}

/** Whether a directory, with everything mounted below it, can be mounted with other owners. `mounts` is `/proc/self/mountinfo`. */
export function isMappable(path: string, mounts: string): boolean {
  const found = mountsAt(path, mounts);
  return found.length > 0 && found.every(({ type, isMapped }) => mappableTypes.has(type) && !isMapped);
}

/** The types of the file systems that a path lies in, and that are mounted below it. */
export function mountTypesAt(path: string, mounts: string): readonly string[] {
  return mountsAt(path, mounts).map(({ type }) => type);
}

/** The mount that holds a path, and those below it; none where nothing is known. */
function mountsAt(path: string, mounts: string): readonly Mount[] {
  const all = mounts.split('\n').flatMap(parseMount);
  const holding = mountOf(path, all);
  if (holding === undefined) return [];
  return [holding, ...all.filter(({ point }) => point.startsWith(path === '/' ? '/' : `${path}/`))];
}

/** What was mounted last in a place covers what was there. */
function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  const here = mounts.findLast(({ point }) => point === path);
  if (here !== undefined || path === '/') return here;
  return mountOf(dirname(path), mounts);
}

function parseMount(line: string): readonly Mount[] {
  const [before = '', after = ''] = line.split(' - ');
  const [, , , , point, options = ''] = before.split(' ');
  const [type] = after.split(' ');
  if (point === undefined || type === undefined || type === '') return [];
  return [{ point: join('/', unescapeOctal(point)), type, isMapped: options.split(',').includes('idmapped') }];
}

/** Blanks and the like in a path, as mountinfo writes them. */
function unescapeOctal(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replaceAll(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
