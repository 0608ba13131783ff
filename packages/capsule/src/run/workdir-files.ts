/** Puts `task.md` and `out/result.txt` into the workdir, and replaces nothing that is not its own. */

import { linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { writeWorkdirFile } from '@svc/session/workdir/workdir-file.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { RunRequest } from '../launch/running-capsule.ts';
import { contentOf, WrittenFiles, type Content } from './written-files.ts';

/** How many names are tried for a file that is moved aside. */
const maxAside = 1000;

const task = 'task.md';
const results = 'out';
const result = 'out/result.txt';
const inbox = 'peer-in';

interface ClaimingLaunch {
  readonly request: Pick<RunRequest, 'home' | 'workdir' | 'approval'>;
  readonly launch: Pick<PreparedLaunch, 'source' | 'initialTask' | 'grants'>;
  readonly onWarning: (warning: Diagnostic) => void;
}

/**
 * Takes the places of `svc` in the workdir of a launch, before anything runs (see `claim`). Nobody else comes to the workdir of a child, and
 * what was written to a fresh one is remembered for a later `--workdir` of the same workspace.
 */
export function claimWorkdir({ request, launch, onWarning }: ClaimingLaunch, workdir: string): WorkdirFiles {
  const { source, initialTask, grants } = launch;
  const ownKeeper = join(source.state, '.svc');
  const keepers = request.workdir === null ? [ownKeeper] : [ownKeeper, join(request.home, '.svc')];
  const files = new WorkdirFiles(workdir, request.approval === null ? new WrittenFiles({ workdir, keepers }) : null);
  const hasInbox = grants.peerFetchAllow.length > 0;
  for (const warning of files.claim({ task: initialTask?.text ?? null, hasInbox })) onWarning(warning);
  return files;
}

interface Claim {
  /** The first task, if there is one. */
  readonly task: string | null;
  /** Whether files of peers may come. */
  readonly hasInbox: boolean;
}

/**
 * The files that `svc` itself puts into the workdir of a session: `task.md` and `out/result.txt`. In a workdir that was there before, `claim` looks
 * first what it would replace.
 */
export class WorkdirFiles {
  readonly #workdir: string;
  readonly #written: WrittenFiles | null;
  /** The user's own `task.md` holds this very task. */
  #taskIsThere = false;

  /** `written` is null where nobody comes back to the workdir. */
  constructor(workdir: string, written: WrittenFiles | null) {
    this.#workdir = workdir;
    this.#written = written;
  }

  /**
   * Refuses with `E-RUN-053` whatever stands where `svc` writes and is not its own. Moves aside what is no longer as `svc` left it,
   * which the returned warnings report. A refusal has moved and taken nothing.
   */
  claim(claim: Claim): readonly Diagnostic[] {
    if (this.#written === null) return [];
    const base = HeldDirectory.open(this.#workdir);
    try {
      const places = new Places(base, this.#written);
      const found = [
        ...(claim.task === null ? [] : [{ path: task, state: places.file(task, claim.task) }]),
        ...places.fileIn(results, result),
        ...(claim.hasInbox ? [{ path: inbox, state: places.directory(inbox, inbox) }] : []),
      ];
      const foreign = found.filter(({ state }) => state === 'foreign');
      if (foreign.length > 0) throw new DiagnosticList(foreign.map(({ path }) => this.#refusal(path)));
      const changed = found.filter(({ state }) => state === 'changed');
      this.#taskIsThere = found.some(({ state }) => state === 'same');
      this.#written.take(
        found.flatMap(({ path, state }) => (state === 'free' ? [path === results ? result : path] : [])),
      );
      return changed.map(({ path }) => this.#moved(path, moveAside(base, path)));
    } catch (error) {
      throw ioFault(error, `the workdir ${this.#workdir} cannot be looked at`);
    } finally {
      base.close();
    }
  }

  writeTask(text: string): void {
    if (!this.#taskIsThere) this.#write(null, task, text);
  }

  writeResult(text: string): void {
    this.#write(results, 'result.txt', text);
  }

  #write(directory: string | null, name: string, text: string): void {
    this.#written?.remember(directory === null ? name : `${directory}/${name}`, text);
    writeWorkdirFile({ workdir: this.#workdir, directory, name, content: text });
  }

  #refusal(path: string): Diagnostic {
    const what = path === results || path === inbox ? 'is not a directory' : 'was not written by svc';
    return new Diagnostic('E-RUN-053', `${path} in the workdir ${this.#workdir} ${what}, and would be replaced`, {
      hint: 'move it away, or name another directory with --workdir',
    });
  }

  #moved(path: string, aside: string): Diagnostic {
    return new Diagnostic(
      'W-RUN-053',
      `${path} in the workdir ${this.#workdir} is not as svc left it: it is now ${aside}`,
    );
  }
}

/** `same`: not written by `svc`, and what it would write. `changed`: the place was `svc`'s own, and holds something else now. */
type PlaceState = 'free' | 'own' | 'same' | 'changed' | 'foreign';

interface FoundPlace {
  readonly path: string;
  readonly state: PlaceState;
}

/** What stands at the places of `svc` below an open workdir. */
class Places {
  readonly #base: HeldDirectory;
  readonly #written: WrittenFiles;

  constructor(base: HeldDirectory, written: WrittenFiles) {
    this.#base = base;
    this.#written = written;
  }

  /** `text` is what will be written, where that is known already. */
  file(path: string, text: string | null = null): PlaceState {
    const found = lstatSync(`${this.#base.path}/${path}`, { throwIfNoEntry: false });
    if (found === undefined) return 'free';
    const known = this.#written.at(path);
    const wanted = text === null ? null : contentOf(Buffer.from(text));
    const sizes = [...(known ?? []), ...(wanted === null ? [] : [wanted])].map(({ bytes }) => bytes);
    const content = found.isFile() && sizes.includes(found.size) ? this.#content(path, found.size) : null;
    if (content !== null && known?.some((each) => isEqual(each, content)) === true) return 'own';
    if (content !== null && wanted !== null && isEqual(content, wanted)) return 'same';
    return known === null ? 'foreign' : 'changed';
  }

  /** `of` is the path by which it is known whether the directory is `svc`'s own. */
  directory(path: string, of: string): PlaceState {
    const found = lstatSync(`${this.#base.path}/${path}`, { throwIfNoEntry: false });
    if (found === undefined) return 'free';
    if (found.isDirectory()) return 'own';
    return this.#written.at(of) === null ? 'foreign' : 'changed';
  }

  fileIn(directory: string, path: string): readonly FoundPlace[] {
    const state = this.directory(directory, path);
    return state === 'own' ? [{ path, state: this.file(path) }] : [{ path: directory, state }];
  }

  /** Returns null when it is not that file any more, or may not be read. */
  #content(path: string, bytes: number): Content | null {
    try {
      const directory = this.#base.below(dirname(path));
      try {
        const found = directory.readFile(basename(path), bytes);
        return found?.length === bytes ? contentOf(found) : null;
      } finally {
        directory.close();
      }
    } catch (error) {
      if (isObstacle(error) || isErrno(error, 'ENOENT', 'EACCES')) return null;
      throw error;
    }
  }
}

function isEqual(one: Content, other: Content): boolean {
  return one.bytes === other.bytes && one.sha256 === other.sha256;
}

/** Gives the first free name of `<path>.1`, `<path>.2` and so on to what stands at `path`. */
function moveAside(base: HeldDirectory, path: string): string {
  for (let number = 1; ; number += 1) {
    const aside = `${path}.${number}`;
    if (number === maxAside)
      throw new Diagnostic(
        'E-RUN-053',
        `${path} in the workdir cannot be moved aside: every name up to ${aside} is taken`,
      );
    if (renameToFree(`${base.path}/${path}`, `${base.path}/${aside}`)) return aside;
  }
}

/** False when the name is taken. A link is made first: a rename would replace what comes to be there meanwhile. */
function renameToFree(from: string, to: string): boolean {
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) return false;
  try {
    linkSync(from, to);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    // Directories have no second name, nor has anything on some file systems.
    if (!isErrno(error, 'EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error;
    renameSync(from, to);
    return true;
  }
  unlinkSync(from);
  return true;
}
