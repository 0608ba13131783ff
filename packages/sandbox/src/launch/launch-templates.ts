/** Writes plans and filters for the helper, once for all launches that share them. */

import {
  closeSync,
  openSync,
  realpathSync,
  unlinkSync,
  writeFileSync,
  lstatSync,
  mkdirSync,
  symlinkSync,
} from 'node:fs';
import { basename, join } from 'node:path';

import { isErrno, isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { stateName } from '@svc/kit/files/masked-names.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { countsAlone } from '../limits/held-limits.ts';
import type { CollectedFiles } from '../closure/file-collection.ts';
import { composePlan, type PlanRequest } from './compose-plan.ts';
import { leavesOut } from './left-out.ts';
import type { Enforcement } from './enforcement.ts';
import { encodeLaunchPlan } from './launch-plan.ts';
import type { ProcessGrants, ProjectFolder } from './process-grants.ts';

/** What the helper reads for a launch, as descriptors that any number of launches share. */
export interface LaunchTemplate {
  readonly plan: number;
  readonly filter: number;
  /** What is to be started: another path where the program's own is a shim that may not run. */
  readonly program: string;
  /** To be searched for programs ahead of `PATH`. */
  readonly searchFirst: string | null;
  /** Sentences for a person: what may keep it, or what it starts, from running. */
  readonly problems: readonly string[];
  /** Whether a program with this plan cannot read what is at a path of the host. */
  readonly hides: (path: string) => boolean;
}

/** More launches than that do not begin at the same time. */
const maxRetired = 64;

/** What all launches with the same programs have in common, whichever of these is started. */
interface ComposedPlan {
  readonly plan: number;
  readonly files: CollectedFiles;
  readonly searchFirst: string | null;
  readonly hides: LaunchTemplate['hides'];
}

export interface LaunchTemplatesOptions {
  readonly enforcement: Enforcement;
  readonly grants: ProcessGrants;
  readonly cgroups: PlanRequest['cgroups'];
  readonly users: PlanRequest['users'];
  readonly workdir: string;
  /** Owner-only; holds a file for a moment. */
  readonly privateDirectory: string;
  /** The system call filter for these grants. */
  readonly filter: Buffer;
  readonly filesOf: FindFiles;
  /** Processes of this user that run now. */
  readonly countProcesses: () => number;
}

/** Finds what programs, each an absolute path, need to run, and what is granted besides. */
type FindFiles = (
  programs: readonly string[],
  searchPath: readonly string[],
  granted: Pick<ProcessGrants, 'reads' | 'trees' | 'hostReads'>,
) => CollectedFiles;

/** A program and those it may run, as absolute paths. */
export interface Startable {
  readonly program: string;
  readonly commands: readonly string[];
  /** The directories of its `PATH`. */
  readonly searchPath: readonly string[];
}

/**
 * Plans and filters as files without a name, each written once. A plan holds nothing of a single call, so that every
 * launch that may run the same programs has the same one.
 */
export class LaunchTemplates {
  readonly #options: LaunchTemplatesOptions;
  readonly #plans = new Map<string, ComposedPlan>();
  /** From a project folder that changed since. A launch that began before may still read one. */
  readonly #retired: number[] = [];
  /** The state of the project folder in the plans. */
  #shown = '';
  #filter: number | null = null;

  constructor(options: LaunchTemplatesOptions) {
    this.#options = options;
  }

  /** Throws `UnfitPlan` where the helper would not take the plan, and `UnwrittenTemplate`. */
  templateFor({ program, commands, searchPath }: Startable): LaunchTemplate {
    this.#filter ??= this.#write(this.#options.filter);
    this.#retireOutdated();
    const programs = [...new Set([program, ...commands])].sort();
    const key = JSON.stringify([programs, searchPath]);
    const composed = this.#plans.get(key) ?? this.#compose(programs, searchPath);
    this.#plans.set(key, composed);
    const { plan, searchFirst, files, hides } = composed;
    const { problems } = files;
    return { plan, filter: this.#filter, searchFirst, problems, hides, program: unshimmed(program, composed) };
  }

  #retireOutdated(): void {
    const { project } = this.#options.grants;
    const shown = project === undefined ? '' : JSON.stringify([project.masked, project.kept, project.parts]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#retired.push(...[...this.#plans.values()].map(({ plan }) => plan));
    this.#plans.clear();
    for (const plan of this.#retired.splice(0, Math.max(0, this.#retired.length - maxRetired))) closeSync(plan);
  }

  close(): void {
    for (const { plan } of this.#plans.values()) closeSync(plan);
    for (const plan of this.#retired.splice(0)) closeSync(plan);
    this.#plans.clear();
    if (this.#filter !== null) closeSync(this.#filter);
    this.#filter = null;
  }

  #compose(programs: readonly string[], searchPath: readonly string[]): ComposedPlan {
    const { enforcement, grants, cgroups, users, workdir, privateDirectory, filesOf, countProcesses } = this.#options;
    const files = grantedFiles({ filesOf, grants, workdir }, programs, searchPath);
    const processesRunning = countsAlone(enforcement) ? 0 : countProcesses();
    const request = { enforcement, files, grants, cgroups, users, workdir, processesRunning };
    const plan = composePlan(request);
    // Composed anew by the few who ask: a plan is long, and the session would keep it.
    const hides = (path: string): boolean => leavesOut(composePlan(request), path);
    const linked = (): string | null => linkPrograms(files, join(privateDirectory, 'bin'));
    const searchFirst = enforcement.class === 'scoped' ? madeIn(privateDirectory, linked) : null;
    return { plan: this.#write(encodeLaunchPlan(plan)), files, searchFirst, hides };
  }

  #write(bytes: Buffer): number {
    const { privateDirectory } = this.#options;
    return madeIn(privateDirectory, () => {
      const path = join(privateDirectory, 'launch-template');
      const written = openSync(path, 'wx', 0o600);
      try {
        writeFileSync(written, bytes);
        return openSync(path, 'r');
      } finally {
        closeSync(written);
        unlinkSync(path);
      }
    });
  }
}

/** What contains a launch could not be written down; the message is a clause for a person. */
export class UnwrittenTemplate extends Error {}

function madeIn<T>(directory: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const reason = `what contains it could not be written to ${directory}: ${systemReason(error)}`;
    throw new UnwrittenTemplate(`it could not be contained: ${reason}`, { cause: error });
  }
}

interface FilesRequest {
  readonly filesOf: FindFiles;
  readonly grants: ProcessGrants;
  readonly workdir: string;
}

/** The files of a launch of these programs: what they need and what is granted, without what the process itself can write. */
export function grantedFiles(
  { filesOf, grants, workdir }: FilesRequest,
  programs: readonly string[],
  searchPath: readonly string[],
): CollectedFiles {
  const { workdirExec, writes = [], project } = grants;
  const places = [workdir, ...writes, ...(project?.writable === true ? [project.path] : [])];
  const closed = project?.writable === true ? closedIn(project) : [];
  return withoutAgentsPrograms(filesOf(programs, searchPath, grants), { places, closed, workdirExec });
}

/** What programs cannot write in a folder that they may write in. What a session keeps of a workdir in `.svc` has its own mounts. */
function closedIn({ path, kept }: ProjectFolder): readonly string[] {
  const closed = kept.filter((place) => !place.writable && !isBeneath(stateName, place.path));
  return closed.map((place) => join(path, place.path));
}

/** The program that a shim stands for, where no root is composed in which a link takes the shim's place. */
function unshimmed(program: string, { files, searchFirst }: ComposedPlan): string {
  if (searchFirst === null) return program;
  const own = realpathSync(program);
  return files.links.find(({ path }) => path === own)?.target ?? program;
}

/**
 * The files without those of the places where the agent can write: these have the rights of that place and no others, also where a link under
 * a listed name leads to them. Each program that cannot run for this is reported, unless written files may be executed.
 */
export function withoutAgentsPrograms(
  files: CollectedFiles,
  {
    places,
    closed,
    workdirExec,
  }: { readonly places: readonly string[]; readonly closed: readonly string[]; readonly workdirExec: boolean },
): CollectedFiles {
  const isIn = (all: readonly string[], path: string): boolean => all.some((place) => isBeneath(place, path));
  const isOutside = (path: string): boolean => !isIn(places, path) || isIn(closed, path);
  const kept = files.execute.filter((path) => !isOutside(path));
  if (kept.length === 0 && files.read.every(isOutside)) return files;
  const problems = workdirExec
    ? []
    : kept.map(
        (path) => `${path} lies where the command may write, and runs only where that is granted too (workdir_exec)`,
      );
  return {
    ...files,
    read: files.read.filter(isOutside),
    execute: files.execute.filter(isOutside),
    problems: [...files.problems, ...problems],
  };
}

/**
 * Where no root is composed, the links of `files` that the host does not have: they stand for pyenv's shims, which the process may not
 * run. They are made in `directory`, to be searched first; null without any.
 */
function linkPrograms({ links }: Pick<CollectedFiles, 'links'>, directory: string): string | null {
  const missing = links.filter(({ path }) => !isLink(path));
  if (missing.length === 0) return null;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const { path, target } of missing) makeLink(target, join(directory, basename(path)));
  return directory;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** The same name from another directory is the same program: it was found for that name. */
function makeLink(target: string, path: string): void {
  try {
    symlinkSync(target, path);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}
