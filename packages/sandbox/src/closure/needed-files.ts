import { addBaseline } from './baseline.ts';
import { addCommands } from './command-files.ts';
import { type CollectedFiles, FileCollection } from './file-collection.ts';
import type { FileHost } from './file-host.ts';

/**
 * All that a process may open so that each of `programs`, absolute paths, can run and do its work: the baseline, closures
 * and profiles; and the files and directories `reads` besides. `searchPath` is the `PATH` that the process will have.
 */
export function neededFiles(
  programs: readonly string[],
  host: FileHost,
  searchPath: readonly string[],
  reads: readonly string[] = [],
): CollectedFiles {
  const files = new FileCollection(host);
  addBaseline(files);
  addCommands(files, programs, searchPath);
  for (const path of reads) {
    const walk = files.find(path);
    if (walk !== null) files.read(walk);
  }
  return files.result();
}
