/** Gives a session a folder of the host, as its project or as its workdir: to its programs, and to its components. */

import { accessSync, constants, lstatSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import type { Preopen } from '@svc/components/component.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { isMaskedInWorkdir, stateName } from '@svc/kit/files/masked-names.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { makePrivateDirectory, openScopeDirectory } from '@svc/record/sessions/session-directories.ts';
import type { FolderChanges } from '@svc/sandbox/folder-changes.ts';
import type { ProcessGrants } from '@svc/sandbox/launch/process-grants.ts';
import { projectName } from '@svc/sandbox/launch/project-steps.ts';
import type { PutAside } from '@svc/sandbox/made-repositories.ts';
import type { OpenedFolder } from '@svc/sandbox/project-folder.ts';
import type { GivenProject, ScopeGrant } from './running-capsule.ts';

type ProjectOfScope = NonNullable<ScopeObject['project_folder']>;

export interface GivenFolderParts {
  readonly mayDelegate?: boolean;
  readonly closedGit?: ProjectOfScope['closed_git'];
  /** Opens the same folder to be written, for a report or for programs. Throws a Diagnostic. Absent unless it is opened to be read alone. */
  readonly openWritable?: (isReport: boolean) => OpenedFolder;
}

/** The folder as a session uses it, in the class of its programs. */
export class GivenFolder implements GivenProject {
  readonly #folder: OpenedFolder;
  readonly #achieved: ContainmentClass;
  readonly #mayDelegate: boolean;
  readonly #closedGit: ProjectOfScope['closed_git'];
  readonly #openWritable: GivenFolderParts['openWritable'];
  #written: GivenFolder | null = null;

  constructor(
    folder: OpenedFolder,
    achieved: ContainmentClass,
    { mayDelegate = false, closedGit, openWritable }: GivenFolderParts = {},
  ) {
    this.#folder = folder;
    this.#achieved = achieved;
    this.#mayDelegate = mayDelegate;
    this.#closedGit = closedGit;
    this.#openWritable = openWritable;
  }

  written(): GivenFolder {
    if (this.#openWritable === undefined) throw new Error(`${this.#folder.path} was not opened to be read alone`);
    this.#written ??= new GivenFolder(this.#openWritable(false), this.#achieved);
    return this.#written;
  }

  /** Why programs cannot be let write in it; null where they can. Changes nothing. */
  whyReadOnly(): Diagnostic | null {
    if (this.#written !== null) return null;
    return diagnosticOf(() => {
      refuseClosedTo(this.#folder.path);
      this.#openWritable?.(true);
    });
  }

  readonly hides = (path: string): boolean => {
    const { isWorkdir, masked } = this.#folder;
    return isWorkdir && (isMaskedInWorkdir(path) || masked.some((each) => isBeneath(each.path, path)));
  };

  get grant(): Pick<ProcessGrants, 'project'> {
    return { project: this.#folder };
  }

  get scope(): Pick<ScopeObject, 'project_folder'> {
    const { path, isWorkdir, writable, masked, keepsGit, git } = this.#folder;
    const places = masked.map((each) => each.path);
    return {
      project_folder: {
        path,
        writable,
        masked: places,
        ...(isWorkdir ? { is_workdir: true, keeps_git: keepsGit } : {}),
        ...(git === null ? {} : { git: { path: git.path, writable: git.writable, around: git.around } }),
        ...(this.#closedGit === undefined ? {} : { closed_git: this.#closedGit }),
      },
    };
  }

  prepare(workdir: string): void {
    const place = join(workdir, projectName);
    if (!this.#folder.isWorkdir) {
      if (this.#achieved === 'sealed' && this.#folder.git === null) makePrivateDirectory(workdir, projectName);
      else if (lstatSync(place, { throwIfNoEntry: false }) === undefined) link(this.#folder.path, place);
    }
    this.#folder.look();
  }

  changes(): FolderChanges | null {
    return this.#written?.changes() ?? this.#folder.changes();
  }

  end(tell: (warning: Diagnostic) => void): void {
    this.#written?.end(tell);
    const found = this.#folder.putAside();
    if (found !== null) for (const warning of asideWarnings(found)) tell(warning);
  }

  preopens({ scope, writable }: ScopeGrant, held: HeldDirectory[]): readonly Preopen[] {
    const { path, isWorkdir } = this.#folder;
    if (isWorkdir) return scope === '.' ? this.#statePreopens(writable, held) : [];
    const directory = opened(path);
    held.push(directory);
    const isWritable = writable && this.#folder.writable;
    const place = { guestPath: `/${projectName}`, hostPath: directory.path, writable: isWritable };
    return [{ ...place, ...this.#mask(isWritable) }];
  }

  mask({ scope, writable }: ScopeGrant): Partial<Preopen> {
    const { isWorkdir, keepsGit } = this.#folder;
    if (!isWorkdir) return {};
    const inMasked = scope === stateName || this.hides(scope);
    if (inMasked || (writable && keepsGit && scope.split('/').some((name) => name.toLowerCase() === '.git'))) {
      throw new Diagnostic(
        'E-CAP-002',
        `the filesystem scope ${scope} is ${inMasked ? 'masked' : 'kept'} in a workdir that --workdir names`,
        {
          hint: inMasked
            ? 'name another scope, or run without --workdir'
            : '--write-git opens what git runs, or name another scope',
        },
      );
    }
    return this.#mask(writable);
  }

  /** Where a link is one of them, masked files may have other names. */
  #mask(writable: boolean): Partial<Preopen> {
    const { path, masked, kept, keepsGit } = this.#folder;
    const objectsOf = (places: readonly { readonly path: string }[]): readonly string[] =>
      places.flatMap((each) => objectAt(join(path, each.path)));
    return {
      // A component need not see the files that svc is loaded from, or those that git obeys.
      masked: [
        ...objectsOf([...masked, ...kept.filter((each) => !each.writable)]),
        ...masked.flatMap((each) => entryAt(join(path, each.path))),
      ],
      fixed: objectsOf(kept),
      ...(writable && keepsGit ? { maskedNames: ['.git'] } : {}),
    };
  }

  /** What components see of `.svc`, which is masked: the home and the workdirs of children, like programs. Components start before these exist. */
  #statePreopens(writable: boolean, held: HeldDirectory[]): readonly Preopen[] {
    return ['.svc/home', '.svc/children'].flatMap((below) => {
      const comes = this.#mayDelegate && below === '.svc/children';
      if (!comes && lstatSync(join(this.#folder.path, below), { throwIfNoEntry: false }) === undefined) return [];
      const directory = openScopeDirectory(this.#folder.path, below);
      held.push(directory);
      return [{ guestPath: `/${below}`, hostPath: directory.path, writable }];
    });
  }
}

const maxNames = 5;

function asideWarnings({ moved, left, unseen }: PutAside): readonly Diagnostic[] {
  const notMoved = [
    ...(left.length === 0 ? [] : [`${firstNames(left, maxNames)} cannot be renamed`]),
    ...(unseen === null ? [] : [unseen]),
  ];
  return [
    ...(moved.length === 0
      ? []
      : [
          new Diagnostic(
            'W-RUN-183',
            `the task made repositories in which git would obey it, so they were renamed: ${firstNames(
              moved.map(({ from, to }) => `${from} to ${to}`),
              maxNames,
            )}`,
            {
              hint: 'look at config and hooks in each; rename it back, and HEAD.made-by-task in it to HEAD, to use it',
            },
          ),
        ]),
    ...(notMoved.length === 0
      ? []
      : [
          new Diagnostic(
            'W-RUN-183',
            `there may be repositories of the task that git obeys: ${notMoved.join(', and ')}`,
            {
              hint: 'find . -name .git names them: look at config and hooks in each before your next git command',
            },
          ),
        ]),
  ];
}

function link(path: string, place: string): void {
  try {
    symlinkSync(path, place);
  } catch (error) {
    throw ioFault(error, `cannot make ${place}`);
  }
}

/** Throws the Diagnostic of a folder in which the user may not write, whose programs may not either then. */
function refuseClosedTo(path: string): void {
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    throw ioFault(error, `this user cannot write in ${path}`);
  }
}

function opened(path: string): HeldDirectory {
  try {
    return HeldDirectory.open(path);
  } catch (error) {
    throw ioFault(error, `the folder ${path} cannot be opened`);
  }
}

/** Whatever has this name in its directory: a file that is written anew is another object. */
function entryAt(path: string): readonly string[] {
  return objectAt(dirname(path)).map((directory) => `${directory}/${basename(path)}`);
}

function objectAt(path: string): readonly string[] {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? [] : [`${found.dev}:${found.ino}`];
}
