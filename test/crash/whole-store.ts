import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, watch } from 'node:fs';
import { join } from 'node:path';

const hoursAgo = 2 * 60 * 60;

/** What of a store is there to be used: name, version and file of each archive that has a record, to the hash of its bytes. Throws what is wrong with it. */
export function wholeArchives(root: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const directory of versionDirectories(root)) {
    for (const file of readdirSync(directory)) {
      if (!file.endsWith('.zip.sha256')) continue;
      const archive = join(directory, file.slice(0, -'.sha256'.length));
      const hash = sha256Of(readFileSync(archive));
      const recorded = readFileSync(join(directory, file), 'utf8').slice(0, 64);
      const meta = JSON.parse(readFileSync(`${archive}.meta.json`, 'utf8')) as { sha256: string; bytes: number };
      if (recorded !== hash || meta.sha256 !== hash || meta.bytes !== statSync(archive).size) {
        throw new Error(`${archive} has the hash ${hash}, its records say ${recorded} and ${JSON.stringify(meta)}`);
      }
      found.set(file.slice(0, -'.zip.sha256'.length), hash);
    }
  }
  return found;
}

function versionDirectories(root: string): string[] {
  if (!existsSync(root)) return [];
  const names = readdirSync(root).filter((name) => !isTemporary(name));
  return names.flatMap((name) => readdirSync(join(root, name)).map((version) => join(root, name, version)));
}

export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function isTemporary(name: string): boolean {
  return name.startsWith('.svc-tmp-');
}

/** Every temporary file below a folder. */
export function temporaryFiles(folder: string): string[] {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return all.filter((path) => path.split('/').some(isTemporary)).map((path) => join(folder, path));
}

/** As if the process that left them had been killed two hours ago. */
export function age(paths: readonly string[]): void {
  for (const path of paths) {
    const { mtimeMs } = statSync(path);
    utimesSync(path, mtimeMs / 1000 - hoursAgo, mtimeMs / 1000 - hoursAgo);
  }
}

/** Resolves when something has changed in a directory for the `count`-th time from now. */
export function nthChange(
  directory: string,
  count: number,
): { readonly moment: Promise<void>; readonly close: () => void } {
  const watcher = watch(directory);
  const wait = async (): Promise<void> => {
    for (let seen = 0; seen < count; seen += 1) await once(watcher, 'change');
  };
  return { moment: wait(), close: () => watcher.close() };
}
