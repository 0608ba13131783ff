/** Gives a session a folder of the host as its project: to its programs, and to its components. */

import { lstatSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import type { Preopen } from '@svc/components/component.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { ProcessGrants, ProjectFolder } from '@svc/sandbox/launch/process-grants.ts';
import { projectName } from '@svc/sandbox/launch/project-steps.ts';
import type { GivenProject } from './running-capsule.ts';
import { makePrivateDirectory } from './session-directories.ts';

/** The folder as a session takes it, in the class that holds its programs. */
export class GivenFolder implements GivenProject {
  readonly #folder: ProjectFolder;
  readonly #achieved: ContainmentClass;

  constructor(folder: ProjectFolder, achieved: ContainmentClass) {
    this.#folder = folder;
    this.#achieved = achieved;
  }

  get grant(): Pick<ProcessGrants, 'project'> {
    return { project: this.#folder };
  }

  get scope(): Pick<ScopeObject, 'project_folder'> {
    const { path, writable, masked } = this.#folder;
    return { project_folder: { path, writable, masked: masked.map((each) => each.path) } };
  }

  prepare(workdir: string): void {
    const place = join(workdir, projectName);
    if (this.#achieved === 'sealed') makePrivateDirectory(workdir, projectName);
    else if (lstatSync(place, { throwIfNoEntry: false }) === undefined) link(this.#folder.path, place);
    this.#folder.look();
  }

  /** Masked files may have other names, where a link is one of theirs. */
  preopens(writable: boolean, held: HeldDirectory[]): readonly Preopen[] {
    const { path, masked, own } = this.#folder;
    const directory = opened(path);
    held.push(directory);
    const objectsOf = (places: readonly { readonly path: string }[]): readonly string[] =>
      places.flatMap((each) => objectAt(join(path, each.path)));
    // What svc is loaded from is nothing that a component has to see.
    const objects = objectsOf([...masked, ...own.filter((each) => !each.writable)]);
    const isWritable = writable && this.#folder.writable;
    const place = { guestPath: `/${projectName}`, hostPath: directory.path, writable: isWritable };
    const fixed = objectsOf(own);
    return [
      { ...place, masked: objects, fixed, ...(isWritable && this.#folder.keepsGit ? { maskedNames: ['.git'] } : {}) },
    ];
  }
}

function link(path: string, place: string): void {
  try {
    symlinkSync(path, place);
  } catch (error) {
    throw ioFault(error, `cannot make ${place}`);
  }
}

function opened(path: string): HeldDirectory {
  try {
    return HeldDirectory.open(path);
  } catch (error) {
    throw ioFault(error, `the folder ${path} cannot be opened`);
  }
}

function objectAt(path: string): readonly string[] {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? [] : [`${found.dev}:${found.ino}`];
}
