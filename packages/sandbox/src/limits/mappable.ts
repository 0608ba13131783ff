/** Which directories the kernel lets be mounted once more with other owners, by the file systems that it says they are on. */
import { dirname, join } from 'node:path';

/** Each has said so since the first kernel on which a root of its own can be composed at all; overlayfs says no. */
const mappableTypes: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'tmpfs']);

interface Mount {
  readonly point: string;
  readonly type: string;
  /** The mount itself shows other owners than its file system already: the kernel does that once. */
  readonly isMapped: boolean;
}

/** Whether a directory, with everything mounted below it, can be mounted with other owners. `mounts` is `/proc/self/mountinfo`. */
export function isMappable(path: string, mounts: string): boolean {
  const all = mounts.split('\n').flatMap(parseMount);
  const holding = mountOf(path, all);
  if (holding === undefined) return false;
  const below = all.filter(({ point }) => point.startsWith(path === '/' ? '/' : `${path}/`));
  return [holding, ...below].every(({ type, isMapped }) => mappableTypes.has(type) && !isMapped);
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
export function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
