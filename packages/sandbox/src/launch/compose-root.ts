/** Composes the root directory that a sealed process sees. */

import { dirname, join } from 'node:path';

import { containedHome } from '../contained-environment.ts';
import { devices, type NeededFiles } from './needed-files.ts';
import { mountAttribute, type RootStep } from './launch-plan.ts';
import { type ProcessGrants, storePlace } from './process-grants.ts';

export interface RootRequest {
  readonly files: NeededFiles;
  readonly grants: ProcessGrants;
  readonly workdir: string;
  /** Whether a `proc` of its own can be had. */
  readonly proc: boolean;
  /** Whether files show with the owners that the session's namespace of mounts gives them. */
  readonly mapped: boolean;
}

export const temporary = '/tmp';
export const sharedMemory = '/dev/shm';

const { readOnly, noSuid, noDev, noExec, mapped: mappedOwners } = mountAttribute;
const mebibyte = 1024 * 1024;
const temporaryBytes = 256 * mebibyte;

/**
 * The root of a sealed process: the files its programs need, read-only; a `/tmp`, devices and `/proc` of its own; its stores; the workdir
 * where the host has it, and what else may be written. In an order in which nothing hides what came before: `/tmp` ahead of a workdir inside it.
 */
export function composeRoot({ files, grants, workdir, proc, mapped }: RootRequest): readonly RootStep[] {
  const mounted = outermost([...files.execute, ...files.read]);
  const owners = mapped ? mappedOwners : 0;
  const links = files.links.filter(({ path }) => !mounted.some((directory) => isBelow(path, directory)));
  return [
    { kind: 'tmp', attributes: noSuid | noDev | noExec, bytes: temporaryBytes, target: temporary },
    ...links.map(({ path, target }): RootStep => ({ kind: 'symlink', text: target, target: path })),
    ...mounted.map((path): RootStep => ({
      kind: 'bind',
      attributes: readOnly | noSuid | noDev | owners,
      source: path,
      target: path,
    })),
    ...deviceSteps,
    ...(proc ? [procStep] : []),
    ...grants.stores.map((store): RootStep => ({
      kind: 'bind',
      attributes: noSuid | noDev | noExec | owners,
      source: store.path,
      target: storePlace(store, workdir),
    })),
    ...writableSteps(grants, workdir, owners),
  ];
}

const procStep: RootStep = { kind: 'proc', attributes: readOnly | noSuid | noDev | noExec, target: '/proc' };

const deviceSteps: readonly RootStep[] = [
  { kind: 'tmpfs', attributes: noSuid | noExec, bytes: mebibyte, target: '/dev' },
  // Read-only keeps their modes and owners; what is written to a device does not pass the file system.
  ...devices.map((name): RootStep => ({
    kind: 'bind',
    attributes: readOnly | noSuid | noExec,
    source: `/dev/${name}`,
    target: `/dev/${name}`,
  })),
  { kind: 'symlink', text: '/proc/self/fd', target: '/dev/fd' },
  { kind: 'symlink', text: '/proc/self/fd/0', target: '/dev/stdin' },
  { kind: 'symlink', text: '/proc/self/fd/1', target: '/dev/stdout' },
  { kind: 'symlink', text: '/proc/self/fd/2', target: '/dev/stderr' },
  { kind: 'tmp', attributes: noSuid | noDev | noExec, bytes: temporaryBytes, target: sharedMemory },
];

/**
 * The workdir comes last, after what may be written beside it and what of that may not. The home lies in the workdir and is the process's
 * own also where the scope leaves it out.
 */
function writableSteps(
  { scope, writable, workdirExec, writes = [], kept = [] }: ProcessGrants,
  workdir: string,
  owners: number,
): readonly RootStep[] {
  const attributes = owners | noSuid | noDev | (workdirExec ? 0 : noExec);
  const bind = (path: string, attributes: number): RootStep => ({
    kind: 'bind',
    attributes,
    source: path,
    target: path,
  });
  const places = outermost(writes);
  const beside = [
    ...places.map((path) => bind(path, attributes)),
    ...waysTo(outermost(kept), places).map((path) => bind(path, attributes)),
    ...outermost(kept).map((path) => bind(path, attributes | readOnly)),
  ];
  const seen = bind(join(workdir, scope), attributes | (writable ? 0 : readOnly));
  const home = bind(containedHome(workdir), attributes);
  return scope === '.' && writable ? [...beside, seen] : [...beside, seen, home];
}

/**
 * The directories on the way from the places that may be written to what is kept in them, the highest first. As mount points they cannot be renamed:
 * one of them moved aside, another could be made in its place without what is kept.
 */
function waysTo(kept: readonly string[], places: readonly string[]): readonly string[] {
  const ways = kept.flatMap((path) => {
    const directories: string[] = [];
    for (let way = dirname(path); places.some((place) => isBelow(way, place)); way = dirname(way))
      directories.push(way);
    return directories;
  });
  return [...new Set(ways)].sort();
}

/** Sorted, without what lies inside another of them. */
function outermost(paths: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const path of [...new Set(paths)].sort()) {
    if (!kept.some((directory) => isBelow(path, directory))) kept.push(path);
  }
  return kept;
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory === '/' ? '/' : `${directory}/`);
}
