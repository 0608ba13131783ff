import { type CollectedFiles, PathWalker, systemFiles } from '../../src/closure/file-collection.ts';
import type { TracedFile } from './traced-files.ts';

/**
 * Returns what a program opened or started without a grant: files and directories by their own path, links on the way
 * with their text. What lies beneath `elsewhere` is not looked at.
 */
export function uncoveredFiles(
  traced: readonly TracedFile[],
  granted: readonly CollectedFiles[],
  elsewhere: readonly string[],
): string[] {
  const walker = new PathWalker(systemFiles);
  const execute = granted.flatMap((files) => files.execute);
  const read = [...execute, ...granted.flatMap((files) => files.read)];
  const links = new Set(granted.flatMap((files) => files.links.map(({ path, target }) => `${path} -> ${target}`)));
  const missing = new Set<string>();
  for (const { how, path } of traced) {
    if (isBeneath(path, elsewhere)) continue;
    const walk = walker.walk(path);
    // Opened and gone since: a file that the program made for itself.
    if (walk === null || isBeneath(walk.path, elsewhere)) continue;
    if (!isBeneath(walk.path, how === 'started' ? execute : read)) missing.add(`${how} ${walk.path}`);
    for (const link of walk.links) {
      const text = `${link.path} -> ${link.target}`;
      if (!links.has(text) && !isBeneath(link.path, read)) missing.add(text);
    }
  }
  return [...missing].sort();
}

function isBeneath(path: string, directories: readonly string[]): boolean {
  return directories.some((directory) => path === directory || path.startsWith(`${directory}/`));
}
