/** The files of a workdir that a page may see: those in `out/`, and those that the trace says were changed. */

import { type Dir, fstatSync, opendirSync } from 'node:fs';

import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { release } from '@svc/kit/files/read-up-to.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { ViewedFile, ViewedFiles } from '@svc/protocol/viewed-session.ts';
import { ExportRoot, type OpenedFile } from '@svc/session/files/export-root.ts';
import { maxFiles } from './trace-look.ts';
import type { SessionLooks, ViewedSession } from './viewed-session.ts';

const outFolder = 'out';
const deepest = 16;
/** Names of folders that are looked at. */
const maxNames = 10_000;

/** The files that are there, by their paths; none of a session whose workdir is not known. */
export async function filesOf(session: ViewedSession, looks: SessionLooks): Promise<ViewedFiles> {
  const workdir = session.workdir();
  if (workdir === null) return { files: [], truncated: false };
  const look = await looks.at(session);
  const walk = new Walk();
  const out = unlessRefused(() => HeldDirectory.open(`${workdir}/${outFolder}`), null);
  if (out !== null) walk.through(out, outFolder, 0);
  const files = new Map(walk.files.map((file) => [file.path, file]));
  let isCut = walk.isCut || look?.isCut === true;
  for (const path of look?.changed ?? []) {
    if (files.has(path)) continue;
    const file = openIn(workdir, path);
    if (file === null) continue;
    release(file.descriptor);
    if (files.size < maxFiles) files.set(path, { path, bytes: file.size });
    else isCut = true;
  }
  const sorted = [...files.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return { files: sorted, truncated: isCut };
}

/** Opens one of these files, and nothing else, for the caller to close; null for anything that is not among them. `path` is sound (`isSoundPath`). */
export async function openViewedFile(
  session: ViewedSession,
  path: string,
  looks: SessionLooks,
): Promise<OpenedFile | null> {
  const workdir = session.workdir();
  if (workdir === null) return null;
  const isShown = path.startsWith(`${outFolder}/`) || (await looks.at(session))?.changed.includes(path) === true;
  return isShown ? openIn(workdir, path) : null;
}

/** A regular file beneath the workdir; the agent may have put links anywhere, and none is followed. */
function openIn(workdir: string, path: string): OpenedFile | null {
  const opening = new ExportRoot({ workdir, root: '.', achieved: 'scoped' }).open(path);
  return opening.kind === 'opened' ? opening.file : null;
}

class Walk {
  readonly files: ViewedFile[] = [];
  isCut = false;
  #names = 0;

  /** Takes over the directory. */
  through(directory: HeldDirectory, path: string, depth: number): void {
    const names = unlessRefused(() => opendirSync(directory.path), null);
    try {
      if (names !== null) this.#take(names, directory, { path, depth });
    } finally {
      names?.closeSync();
      directory.close();
    }
  }

  #take(
    names: Dir,
    directory: HeldDirectory,
    { path, depth }: { readonly path: string; readonly depth: number },
  ): void {
    for (let entry = names.readSync(); entry !== null; entry = names.readSync()) {
      this.#names += 1;
      if (this.#names > maxNames || this.files.length >= maxFiles) {
        this.isCut = true;
        return;
      }
      const { name } = entry;
      const child = unlessRefused(() => directory.child(name), null);
      if (child?.kind === 'file') this.#addFile(directory, name, `${path}/${name}`);
      if (child?.kind !== 'directory') continue;
      if (depth < deepest) this.through(child.directory, `${path}/${name}`, depth + 1);
      else {
        child.directory.close();
        this.isCut = true;
      }
    }
  }

  #addFile(directory: HeldDirectory, name: string, path: string): void {
    const opened = unlessRefused(() => directory.openFile(name), null);
    if (opened?.kind !== 'file') return;
    this.files.push({ path, bytes: fstatSync(opened.fd).size });
    release(opened.fd);
  }
}
