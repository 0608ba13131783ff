/** Reads a request and makes grants of it, as the rest of the sandbox knows them. */

import { lstatSync, realpathSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';

import { defaultLimits } from '@svc/kit/default-limits.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { formatDestination, type NetworkDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import { maxTimerMs } from '@svc/kit/units.ts';
import { containedEnvironment, containedTemporary, searchPathOutside, temporary } from '../contained-environment.ts';
import { findProgram } from '../find-program.ts';
import { checkRequest, unusable } from './check-request.ts';
import { obstacleToKeeping, type OwnPlace, ownPlacesIn, writeInside } from '../own-places.ts';
import { minimalGrants, type ProcessGrants, type ResourceLimits } from '../launch/process-grants.ts';
import type { Surroundings } from './own-host.ts';
import type { Grants, Limits, SandboxClass, SandboxRequest } from './requests.ts';
import { StartRefusal } from './start-refusal.ts';

/** A request that can be carried out, as far as looking shows. Paths are absolute and without links. */
export interface LoweredRequest {
  readonly class: SandboxClass;
  /** The path of the program that is started. */
  readonly program: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly grants: ProcessGrants;
  /** Is null for the empty folder of its own. */
  readonly cwd: string | null;
  readonly searchPath: string;
  readonly env: Readonly<Record<string, string>>;
  /** Paths that the request grants, where the rest of `grants` is what its programs need. */
  readonly granted: readonly string[];
  /** Parts of the program itself in them, which stay as they are. */
  readonly keptOwn: readonly string[];
  /** Where what contains the command is kept: out of its reach, in a class that keeps files from it. */
  readonly privateDirectory: string;
  /** As they are granted, for a person. */
  readonly network: readonly string[];
  readonly timeMs: number | null;
  readonly outputBytes: number | null;
}

/** Where a system keeps its programs and what they are made of; links on most systems, except the first. */
const systemTrees = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** By which programs of `/usr` are found on Debian and its kin. */
const systemLinks = ['/etc/alternatives'];

/** Mounted anew for each command, or made of nothing: the host's own are never granted. */
const ownPlaces = ['/proc', '/dev'];

/** Throws `E-CAP-019`, `E-CAP-001`, `E-CAP-020`, and `E-CAP-021` for a program that is not there. */
export function lowerRequest(request: SandboxRequest, surroundings: Surroundings): LoweredRequest {
  checkRequest(request);
  const { command, grants = {}, class: wanted = 'sealed' } = request;
  const [name = '', ...args] = command;
  if (name === '') throw unusable('a command is to be run, and none is named', 'name a program as the first word');
  const writes = (grants.write ?? []).map((path) => grantedPath(path, 'writing', surroundings));
  const reads = (grants.read ?? []).map((path) => grantedPath(path, 'reading', surroundings));
  const kept = reads.filter((path) => writes.some((place) => isBeneath(place, path)));
  refuseContradiction(writes, kept);
  refuseUnheld(wanted, kept, grants);
  refuseOpenTemporary(writes, surroundings);
  const own = writes.length === 0 ? [] : keptOwnPlaces(wanted, writes, surroundings.own);
  const privateDirectory = privatePlace(wanted, [...reads, ...writes], surroundings);
  refuseRunnable(wanted, writes, grants);
  const searchPath = searchPathOutside(surroundings.searchPath, grants.runWritten === true ? [] : writes);
  const env = environmentOf(grants.env ?? {});
  const program = programOf(name, env['PATH'] ?? searchPath, surroundings.cwd);
  const network = (grants.network ?? []).map(destinationOf);
  const { timeMs = null, outputBytes = null } = checkedLimits(grants.limits ?? {});
  return {
    class: wanted,
    program,
    command: name.includes('/') ? program : name,
    args,
    cwd: startOf(request, [...reads, ...writes], surroundings),
    searchPath,
    env,
    granted: [...reads, ...writes],
    keptOwn: own,
    privateDirectory,
    network: network.map(formatDestination),
    timeMs,
    outputBytes,
    grants: {
      ...minimalGrants,
      commands: (grants.run ?? []).map((other) => namedProgram(other, env['PATH'] ?? searchPath)),
      workdirExec: grants.runWritten ?? false,
      reads: [...reads.filter((path) => !kept.includes(path)), ...(grants.run === undefined ? systemLinks : [])],
      trees: grants.run === undefined ? systemTrees : [],
      writes,
      kept: [...kept, ...own],
      networkAllow: network,
      unixSockets: grants.unixSockets ?? false,
      limits: resourcesOf(grants.limits ?? {}),
    },
  };
}

function grantedPath(path: string, use: 'reading' | 'writing', { cwd }: Surroundings): string {
  const wanted = `${quoted(path)} was granted for ${use}`;
  if (path === '') throw unusable(`an empty path was granted for ${use}`, 'name a file or a directory');
  if (path.includes('\0')) throw unusable(`${wanted}, and no path holds a NUL character`, 'name it without');
  const place = resolve(cwd, path);
  if (place === '/') throw unusable(`${wanted}, and a whole system cannot be`, 'grant the directories that it needs');
  if (ownPlaces.some((own) => isBeneath(own, place))) {
    throw unusable(`${wanted}, and a command has a /proc and a /dev of its own`, 'leave it out');
  }
  const real = realPathOf(place, wanted);
  if (real !== place) {
    throw unusable(`${wanted}, and it is a link or lies behind one: it leads to ${real}`, `grant ${real} itself`);
  }
  const found = unlessRefused(() => lstatSync(place), null);
  if (found === null) throw unusable(`${wanted}, and it is not there any more`, 'make it first, or leave it out');
  if (!found.isFile() && !found.isDirectory()) {
    throw unusable(`${wanted}, and it is neither a file nor a directory`, 'grant the directory that it lies in');
  }
  return place;
}

function realPathOf(place: string, wanted: string): string {
  try {
    return realpathSync(place);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const reason = error.code === 'ENOENT' ? 'nothing is there' : systemReason(error);
    throw unusable(`${wanted}, and ${reason}`, 'make it first, or leave it out');
  }
}

/** A place for writing that is itself kept, or lies in what is kept, would be read only without a word. */
function refuseContradiction(writes: readonly string[], kept: readonly string[]): void {
  const place = writes.find((path) => kept.some((other) => isBeneath(other, path)));
  if (place === undefined) return;
  throw unusable(
    `${quoted(place)} was granted for writing, and it is or lies in a place that is to be read only`,
    'grant it for one of the two, or the read only parts one by one',
  );
}

/** What a weaker class would let pass is refused: a grant that is not held is no grant. */
function refuseUnheld(wanted: SandboxClass, [kept]: readonly string[], { network = [] }: Grants): void {
  if (wanted === 'sealed') return;
  const hint = 'use class sealed';
  if (kept !== undefined) {
    throw new Diagnostic(
      'E-CAP-020',
      `${kept} is to be read only inside a directory that may be written, which class ${wanted} cannot hold`,
      { hint: `${hint}, or grant the writable parts one by one` },
    );
  }
  if (network.length > 0) {
    throw new Diagnostic(
      'E-CAP-020',
      `the network is to be ${network.join(', ')} alone, and class ${wanted} cannot hold a command to hosts`,
      { hint: `${hint}, or grant no network` },
    );
  }
}

/** What contains a command is kept in a folder there for a moment. */
function refuseOpenTemporary(writes: readonly string[], { temporaryDirectory }: Surroundings): void {
  const open = writes.find((path) => isBeneath(path, temporaryDirectory));
  if (open === undefined) return;
  throw unusable(
    `${open} was granted for writing, and holds the temporary files that contain the command`,
    'grant a directory inside it, or set TMPDIR to a directory elsewhere',
  );
}

/** What contains a command says what else there is to be found, and where it asked to go: it is not for the command to read. */
function privatePlace(
  wanted: SandboxClass,
  granted: readonly string[],
  { privateDirectories, temporaryDirectory }: Surroundings,
): string {
  const isOpen = (place: string): boolean => granted.some((path) => isBeneath(path, place));
  const place = privateDirectories.find((each) => wanted === 'advisory' || !isOpen(each));
  if (place !== undefined) return place;
  throw unusable(
    `${temporaryDirectory} was granted for reading, and holds the temporary files that contain the command`,
    'grant a directory inside it, or set TMPDIR to a directory elsewhere',
  );
}

/** Rights only add up: what is written in a directory of the system could be run there as all of it can. A mount of its own keeps that in `sealed`. */
function refuseRunnable(wanted: SandboxClass, writes: readonly string[], { run, runWritten = false }: Grants): void {
  if (wanted !== 'scoped' || run !== undefined || runWritten) return;
  const trees = systemTrees.map(realPath);
  for (const tree of trees) {
    const place = writes.find((path) => isBeneath(tree, path) || isBeneath(path, tree));
    if (place === undefined) continue;
    throw new Diagnostic(
      'E-CAP-020',
      `${place} may be written and ${tree} may be run, so that class scoped cannot keep what the command writes there from being run`,
      { hint: 'use class sealed, name the programs that it may run, grant runWritten, or write elsewhere' },
    );
  }
}

/**
 * What of the program itself lies where the command may write: what contains the next command is started from there, so that a changed file would
 * run without containment. Mounts keep it as it is, and nothing else does; in `advisory` no file is kept from a command, granted or not.
 */
function keptOwnPlaces(wanted: SandboxClass, writes: readonly string[], own: readonly OwnPlace[]): readonly string[] {
  if (wanted === 'advisory') return [];
  const inside = writeInside(own, writes);
  if (inside !== null) {
    throw unusable(
      `${quoted(inside.place)} was granted for writing, and is or lies in ${quoted(inside.holder.path)}, ${whatOf(inside.holder)}`,
      'grant a directory elsewhere',
    );
  }
  const found = ownPlacesIn(own, writes);
  const [first] = found;
  if (first !== undefined && wanted !== 'sealed') {
    throw new Diagnostic(
      'E-CAP-020',
      `${first.path} ${first.what === null ? 'contains the command' : `is a place ${first.what}`} and lies in a directory that it may write, where class ${wanted} cannot keep it as it is`,
      { hint: 'use class sealed, grant the writable parts one by one, or install it elsewhere' },
    );
  }
  const obstacle = obstacleToKeeping(found);
  if (obstacle !== null) {
    const { place, why } = obstacle;
    throw new Diagnostic(
      'E-CAP-020',
      `${place.path}, ${whatOf(place)}, lies in a directory that may be written: it ${why}`,
      { hint: 'grant the writable parts one by one' },
    );
  }
  return found.map(({ path }) => path);
}

function whatOf({ what }: OwnPlace): string {
  return what ?? 'which contains the command';
}

function environmentOf(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || /[=\0]/.test(name) || value.includes('\0')) {
      throw unusable(
        `the variable ${quoted(name)} was granted, and no variable can be so`,
        'name it without = and NUL',
      );
    }
  }
  return env;
}

/** A name is looked up on the search path; any other is a path. */
function programOf(name: string, searchPath: string, cwd: string): string {
  const found = findProgram(name.includes('/') ? resolve(cwd, name) : name, searchPath);
  if (found.kind === 'refused') throw new StartRefusal(quoted(name), found.reason);
  return found.path;
}

function namedProgram(name: string, searchPath: string): string {
  const isNamed = name !== '' && (isAbsolute(name) || !name.includes('/'));
  const found = isNamed ? findProgram(name, searchPath) : null;
  if (found?.kind === 'found') return found.path;
  const problem = found === null ? 'it is neither a name nor an absolute path' : found.reason;
  throw unusable(`${quoted(name)} was granted to be run, and ${problem}`, 'install it, or leave it out');
}

function destinationOf(text: string): NetworkDestination {
  const reading = parseDestination(text);
  if (reading.kind === 'destination') return reading.destination;
  throw new Diagnostic('E-CAP-001', `the destination ${quoted(text)} was granted, and it ${reading.reason}`, {
    hint: 'name it as host, host:port, http://host or https://host',
  });
}

/** The kernel has no more numbers for them. */
const maxProcesses = 4_194_304;

function checkedLimits(limits: Limits): Limits {
  for (const [name, most] of Object.entries(limits)) {
    if (most === undefined || (Number.isSafeInteger(most) && most > 0)) continue;
    throw unusable(`the limit ${name} was to be ${quoted(String(most))}`, 'give a whole number above 0');
  }
  const { timeMs = 0, processes = 0 } = limits;
  if (processes > maxProcesses)
    throw unusable(`the limit processes was to be ${processes}`, `give at most ${maxProcesses}`);
  if (timeMs > maxTimerMs) throw unusable(`the limit timeMs was to be ${timeMs}`, `give at most ${maxTimerMs}`);
  return limits;
}

function resourcesOf(limits: Limits): ResourceLimits {
  const memory = limits.memoryBytes ?? defaultLimits.memory;
  return {
    processes: limits.processes ?? defaultLimits.processes,
    open_files: limits.openFiles ?? defaultLimits.open_files,
    file_size: limits.fileBytes ?? defaultLimits.file_size,
    cpu: limits.cpuSeconds ?? defaultLimits.cpu,
    memory,
    session_memory: memory,
  };
}

function startOf(request: SandboxRequest, places: readonly string[], { cwd }: Surroundings): string | null {
  const isSeen = (path: string): boolean => places.some((place) => isBeneath(place, path));
  if (request.cwd === undefined) return isSeen(cwd) ? cwd : null;
  const place = resolve(cwd, request.cwd);
  if (!isSeen(place)) {
    throw unusable(`the command is to start in ${place}, which it may not read`, 'grant it for reading or writing');
  }
  const real = realPathOf(place, `${place} is where the command is to start`);
  if (real === place && isDirectory(place)) return place;
  throw unusable(
    `the command is to start in ${place}, which is not a directory itself`,
    `name a directory without links`,
  );
}

function isDirectory(path: string): boolean {
  return unlessRefused(() => lstatSync(path).isDirectory(), false);
}

/** The grants, starting in the empty folder where nothing else is said. */
export function grantsIn({ grants, cwd }: LoweredRequest, { workdir }: { readonly workdir: string }): ProcessGrants {
  return { ...grants, cwd: cwd ?? workdir };
}

/** All variables of the command. */
export function environmentIn(
  { class: achieved, searchPath, env, grants }: LoweredRequest,
  { workdir }: { readonly workdir: string },
): Readonly<Record<string, string>> {
  const base = containedEnvironment({
    accessibleWorkdir: workdir,
    achieved,
    held: { PATH: searchPath },
    allow: [],
  });
  // Granted for reading, the host's is mounted over the one of its own.
  const isHosts = [...(grants.reads ?? []), ...(grants.kept ?? [])].includes(temporary);
  return { ...base, ...(isHosts ? { TMPDIR: containedTemporary(workdir) } : {}), ...env };
}
