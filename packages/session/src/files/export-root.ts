/** Opens files below an exported directory, whatever happens to paths meanwhile. */

import { closeSync, fstatSync, openSync, readlinkSync, realpathSync, statSync, type Stats } from 'node:fs';

import { normalizeWorkdirPath } from '@svc/artifacts/manifest/workdir-path.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { readFlags } from '@svc/kit/files/held-directory.ts';
import { isBeneath, pathBeneath, resolveBeneath, type Resolution } from '@svc/kit/files/resolve-beneath.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { ResourceRefusalCode } from '@svc/protocol/resource-refusals.ts';
import { refusalOfSystemError } from './refused-requests.ts';

/** A regular file, opened once. The holder closes the descriptor. */
export interface OpenedFile {
  readonly descriptor: number;
  /** Bytes at the time of opening. */
  readonly size: number;
  /** Unix milliseconds, whole. */
  readonly mtimeMs: number;
}

type Opening =
  /** `path` is relative to the root and canonical: no link is on the way. */
  | { readonly kind: 'opened'; readonly file: OpenedFile; readonly path: string }
  | { readonly kind: 'refused'; readonly code: ResourceRefusalCode };

type RootResolution =
  | { readonly kind: 'directory'; readonly real: string }
  /** Nothing is exported yet: the root does not exist, or is no directory. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly code: ResourceRefusalCode };

interface ExportRootOptions {
  /** The accessible workdir, canonical. */
  readonly workdir: string;
  /** Relative to the workdir, without `.`, `..` and empty components; `.` is the workdir itself. */
  readonly root: string;
  readonly achieved: ContainmentClass;
  /** Absent where nothing of the workdir is masked. */
  readonly hides?: Hides | undefined;
}

/** Whether what is at a canonical path relative to the workdir is kept from the agent too, and so is served to nobody. */
export type Hides = (path: string) => boolean;

/** Times a file is looked up again because it changed between its look-up and its opening. */
const maxAttempts = 3;

/** The root of a block of `exports`, spelt one way. The manifest lets none out of the workdir: here that is a bug. */
export function normalizedRoot(configured: string): string {
  const root = normalizeWorkdirPath(configured);
  if (root === undefined) throw new Error(`the manifest let an export root leave the workdir: ${configured}`);
  return root;
}

/** One exported directory: opens regular files beneath it, and nothing else, whatever happens to paths meanwhile (D3 "Path resolution"). */
export class ExportRoot {
  readonly #workdir: string;
  readonly #root: string;
  readonly #refusesLinks: boolean;
  readonly #hides: Hides | undefined;

  constructor({ workdir, root, achieved, hides }: ExportRootOptions) {
    this.#workdir = workdir;
    this.#root = root;
    this.#refusesLinks = achieved === 'scoped';
    this.#hides = hides;
  }

  /** Whether what is at a canonical absolute path is served to nobody. */
  isHidden(real: string): boolean {
    return this.#hides?.(relativeTo(this.#workdir, real)) === true;
  }

  /** The root as it is now. It may be made, or made a link, at any time. */
  resolve(): RootResolution {
    try {
      if (this.#root === '.') return { kind: 'directory', real: this.#workdir };
      const resolution = resolveBeneath(this.#workdir, this.#root);
      if (resolution.kind === 'inside') {
        return statSync(resolution.real).isDirectory()
          ? { kind: 'directory', real: resolution.real }
          : { kind: 'absent' };
      }
      if (resolution.kind === 'missing') return { kind: 'absent' };
      return { kind: 'refused', code: resolution.kind === 'outside' ? 'outside_root' : 'io_error' };
    } catch (error) {
      const code = systemRefusal(error);
      return code === 'not_found' ? { kind: 'absent' } : { kind: 'refused', code };
    }
  }

  /** Opens the file at a path that `parseResourcePath` has let through. */
  open(path: string): Opening {
    return this.#openPlain(path) ?? this.#openResolved(path);
  }

  /** The usual case, at half the cost: no link anywhere on the way, the root included. */
  #openPlain(path: string): Opening | undefined {
    const root = this.#root === '.' ? this.#workdir : pathBeneath(this.#workdir, this.#root);
    const plain = pathBeneath(root, path);
    try {
      if (realpathSync.native(plain) !== plain || this.isHidden(plain)) return undefined;
      const opening = openFile(root, plain);
      return opening === 'changed' ? undefined : opening;
    } catch (error) {
      systemRefusal(error);
      return undefined;
    }
  }

  #openResolved(path: string): Opening {
    const root = this.resolve();
    if (root.kind === 'refused') return root;
    if (root.kind === 'absent') return refused('not_found');
    for (let attempt = 1; ; attempt += 1) {
      const opening = this.#openOnce(root.real, path);
      if (opening !== 'changed') return opening;
      if (attempt === maxAttempts) return refused('symlink_refused');
    }
  }

  #openOnce(root: string, path: string): Opening | 'changed' {
    try {
      const resolution = resolveBeneath(root, path);
      const code = this.#refusalOf(resolution);
      if (code !== undefined) return refused(code);
      if (resolution.kind !== 'inside' || this.isHidden(resolution.real)) return refused('not_found');
      return openFile(root, resolution.real);
    } catch (error) {
      return refused(systemRefusal(error));
    }
  }

  /** The answer depends on the containment class: `scoped` refuses every link, the others follow links that stay inside. */
  #refusalOf(resolution: Resolution): ResourceRefusalCode | undefined {
    switch (resolution.kind) {
      case 'inside':
        return resolution.throughLink && this.#refusesLinks ? 'symlink_refused' : undefined;
      case 'outside':
        return 'outside_root';
      case 'missing':
        return resolution.throughLink && this.#refusesLinks ? 'symlink_refused' : 'not_found';
      case 'loop':
        return this.#refusesLinks ? 'symlink_refused' : 'io_error';
    }
  }
}

/**
 * Opens what is at a canonical path and confirms from the descriptor that it is still that: a regular file at that very path. `changed` when
 * the path was swapped between its look-up and now.
 */
export function openFile(root: string, real: string): Opening | 'changed' {
  const descriptor = openUnlessLink(real);
  if (descriptor === undefined) return 'changed';
  let kept = false;
  try {
    const status = fstatSync(descriptor);
    const place = placeOf(descriptor, real, status);
    if (!isBeneath(root, place)) return refused('outside_root');
    // A file that was renamed over since shows its old path, marked by the kernel.
    if (place !== real && place !== `${real} (deleted)`) return 'changed';
    if (!status.isFile()) return refused('not_a_regular_file');
    kept = true;
    const file = { descriptor, size: status.size, mtimeMs: Math.floor(status.mtimeMs) };
    return { kind: 'opened', file, path: relativeTo(root, real) };
  } finally {
    if (!kept) closeSync(descriptor);
  }
}

/** The operating system's verdict as a code; anything else is a bug. */
export function systemRefusal(error: unknown): ResourceRefusalCode {
  const code = refusalOfSystemError(error);
  if (code === undefined) throw error;
  return code;
}

function relativeTo(root: string, real: string): string {
  return real.slice(root === '/' ? 1 : root.length + 1);
}

function openUnlessLink(real: string): number | undefined {
  try {
    return openSync(real, readFlags);
  } catch (error) {
    if (isErrno(error, 'ELOOP')) return undefined;
    throw error;
  }
}

/** Where an open file is. Without /proc the path is looked up again, which another process could win a race against. */
function placeOf(descriptor: number, real: string, status: Stats): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch (error) {
    if (refusalOfSystemError(error) !== 'not_found') throw error;
    const again = statSync(real);
    return again.dev === status.dev && again.ino === status.ino ? realpathSync.native(real) : '';
  }
}

function refused(code: ResourceRefusalCode): Opening {
  return { kind: 'refused', code };
}

export interface ExportCheck {
  /** The accessible workdir, canonical. */
  readonly workdir: string;
  readonly exports: {
    readonly files?: { readonly root: string } | undefined;
    readonly peer_files?: { readonly root: string } | undefined;
  };
}

/**
 * Why a launch is refused: an export root that leads out of the workdir (`E-CAP-007`, D3 "Export configuration"), and one that no header can
 * carry. A root that does not exist yet is sound unless a link on the way leads out. Throws `E-IO-001` when a root cannot be looked at.
 */
export function checkExportRoots({ workdir, exports }: ExportCheck): Diagnostic[] {
  const problems: Diagnostic[] = [];
  for (const plane of ['files', 'peer_files'] as const) {
    const root = exports[plane]?.root;
    if (root === undefined) continue;
    const problem = rootProblem(workdir, `exports.${plane}.root`, root);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

function rootProblem(workdir: string, key: string, root: string): Diagnostic | undefined {
  if (/\p{Cc}/u.test(root)) {
    return new Diagnostic('E-MAN-003', `${key} must not hold control characters, not ${JSON.stringify(root)}`);
  }
  const path = normalizeWorkdirPath(root);
  if (path === '.' || (path !== undefined && resolve(workdir, path, key).kind !== 'outside')) return undefined;
  return new Diagnostic('E-CAP-007', `${key} ${JSON.stringify(root)} resolves outside the accessible workdir`, {
    hint: `remove the link at ${JSON.stringify(root)}, or export a directory of the workdir itself`,
  });
}

function resolve(workdir: string, path: string, key: string): Resolution {
  try {
    return resolveBeneath(workdir, path);
  } catch (error) {
    throw ioFault(error, `${key} cannot be looked at`);
  }
}
