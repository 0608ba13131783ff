/** Finds out what surrounds a launch: its files, its machine, and who delegated it. */

import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { release, tmpdir } from 'node:os';
import { arch, getuid, platform } from 'node:process';

import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import type { Archive } from '@svc/artifacts/store/archive.ts';
import { locate } from '@svc/artifacts/store/locate.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { admissionOf } from '@svc/artifacts/store/resolve.ts';
import type { Admission } from '@svc/artifacts/store/trust/admit.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { type SpawnerHandle, decodeSpawnerHandle } from '@svc/protocol/spawner-handle.ts';
import { closedFolderRoot } from '@svc/record/sessions/adhoc-root.ts';
import type { HostFacts } from '@svc/sandbox/host-containment.ts';
import type { RunRequest } from './running-capsule.ts';

/** Where a capsule comes from. */
export interface CapsuleSource {
  /** The manifest, as diagnostics name it. */
  readonly manifestFile: string;
  /** Absolute: the manifest's own, with everything the manifest names beside itself. */
  readonly manifestDirectory: string;
  /** Absolute: the workspace root, with `.env`, `.svc/` and `workdir/`. The manifest's directory, unless the capsule is published. */
  readonly root: string;
  /** Absolute: where sessions and workdirs are kept. The root, unless nothing can be written there. */
  readonly state: string;
  /** Absolute: where `svc.lock` is, or is made. */
  readonly lockDirectory: string;
  /** False where no folder beside the manifest holds a `svc.lock`: a capsule that no file describes. */
  readonly holdsLock: boolean;
  /** Whether the sessions are kept elsewhere since the root lies in the folder of `capabilities.project`. */
  readonly isOutside?: true;
  /** What the trust policy says to a published capsule. */
  readonly admission?: Admission;
  /** The SHA-256 of the archive of a published capsule, in hex. */
  readonly archive?: string;
}

/**
 * The manifest file that was named, or the published capsule, unpacked once by content below `.svc/capsules/` of the working
 * directory (docs/cli.md "svc run"). `E-REG-001` when no store has it, `E-ART-017` where something else lies there, what the trust policy refuses (`admit`), and
 * `E-RUN-203` for another archive than the one that is asked for.
 */
export async function findCapsule(
  request: Pick<RunRequest, 'cwd' | 'manifestFile' | 'published' | 'adhoc' | 'workdir' | 'project'>,
  places: StorePlaces,
): Promise<CapsuleSource> {
  const { cwd, manifestFile, published, adhoc } = request;
  if (published === null) {
    const directory = adhoc?.root ?? dirname(resolve(cwd, manifestFile));
    const made = existsSync(join(directory, 'svc.lock')) ? [] : ['svc.lock'];
    const kept = outsideOf(request, directory, places.userHome);
    const state =
      adhoc?.root ?? kept.state ?? stateOf(directory, { made, workdir: request.workdir, home: places.userHome });
    return {
      ...kept,
      manifestFile,
      manifestDirectory: directory,
      root: directory,
      state,
      lockDirectory: existsSync(join(directory, 'svc.lock')) ? directory : state,
      holdsLock: adhoc === undefined,
    };
  }
  const kept = outsideOf(request, cwd, places.userHome);
  const state = kept.state ?? stateOf(cwd, { made: [], workdir: request.workdir, home: places.userHome });
  if (state !== cwd) await makeDirectory(state, 0o700);
  const location = await locate(published, state === cwd ? places : intoUserStore(places));
  const { openStored } = await import('@svc/artifacts/store/open-stored.ts');
  const opened = await openStored(location.root, location.stored, places.platform);
  try {
    const { sha256 } = opened.stored;
    if (published.sha256 !== undefined && published.sha256 !== sha256) throw otherArchive(published, sha256);
    const admission = admissionOf(location, opened.stored);
    const name = `${published.name}-${published.version}-${sha256.slice(0, 16)}`;
    const directory = join(state, '.svc', 'capsules', name);
    await unpackOnce(opened.archive, directory);
    return {
      ...kept,
      manifestFile: join(directory, 'svc.yaml'),
      manifestDirectory: directory,
      root: cwd,
      state,
      lockDirectory: directory,
      holdsLock: true,
      archive: sha256,
      ...admission,
    };
  } finally {
    await opened.archive.file.close();
  }
}

function otherArchive({ name, version, sha256 }: NonNullable<RunRequest['published']>, found: string): Diagnostic {
  return new Diagnostic('E-RUN-203', `${name}@${version} has other bytes here, with the hash ${found}, not ${sha256}`, {
    hint: `find out who replaced them; svc run --capsule ${name} --capsule-version ${version} begins anew with those that are here`,
  });
}

/** Nothing of a session is kept in the folder that it is given; what else is given lies elsewhere, and is kept beside the manifest. */
function outsideOf(
  { project }: Pick<RunRequest, 'project'>,
  root: string,
  home: string,
): Partial<Pick<CapsuleSource, 'state' | 'isOutside'>> {
  if (project === undefined || !isBeneath(realPath(project.path), realPath(root))) return {};
  return { state: closedFolderRoot(home, root), isOutside: true };
}

interface StateQuestion {
  /** What would be made in the folder beside `.svc` and the workdir. */
  readonly made: readonly string[];
  readonly workdir: string | null;
  readonly home: string;
}

/** The folder itself where it can be written in, or has all that would be made there. */
function stateOf(directory: string, { made, workdir, home }: StateQuestion): string {
  const isWritable = (path: string): boolean =>
    unlessRefused(() => {
      accessSync(path, constants.W_OK);
      return true;
    }, false);
  // A directory that is not there is refused when its manifest is read.
  if (isWritable(directory) || !existsSync(directory)) return directory;
  const all = [...made, '.svc', ...(workdir === null ? ['workdir'] : [])];
  return all.every((name) => isWritable(join(directory, name))) ? directory : closedFolderRoot(home, directory);
}

/** The store of the project lies in its folder. */
export function intoUserStore<Places extends Pick<StorePlaces, 'fetching'>>(places: Places): Places {
  return { ...places, fetching: { ...places.fetching, into: 'user' } };
}

/** `W-RUN-185` where what is kept of a session lies elsewhere. */
export function keptElsewhere({
  root,
  state,
  manifestDirectory,
  lockDirectory,
  isOutside,
}: CapsuleSource): readonly Diagnostic[] {
  if (state === root || isOutside === true) return [];
  const more = manifestDirectory === root ? ' and svc.lock' : ' and the capsule';
  const kept = lockDirectory === root ? 'sessions and workdirs' : `sessions, workdirs${more}`;
  return [
    new Diagnostic(
      'W-RUN-185',
      `${JSON.stringify(root)} cannot be written in: ${kept} are kept in ${JSON.stringify(state)}`,
      {
        hint: 'svc trace, logs and view find them from that folder; to keep them in it, let this user write there',
      },
    ),
  ];
}

/**
 * A folder that lies there already may come from another run, or from the author of the working directory: its content is compared, never believed
 * (docs/adr/workdir.md "An unpacked capsule is compared at each start").
 */
async function unpackOnce(archive: Archive, directory: string): Promise<void> {
  if (!existsSync(directory)) {
    try {
      await archive.extractTo(directory);
      return;
    } catch (error) {
      // Another run may have unpacked the same bytes meanwhile.
      if (!(error instanceof Diagnostic && existsSync(directory))) throw error;
    }
  }
  const { checkUnpacked } = await import('@svc/artifacts/store/unpacked-copy.ts');
  await checkUnpacked(archive, directory);
}

interface HostQuestion extends Pick<HostFacts, 'packageRoot' | 'ceiling'> {
  /** The home directory of the user. */
  readonly home: string;
}

/** The facts of this process and its machine that decide how processes can be contained. */
export function hostFacts({ home, packageRoot, ceiling }: HostQuestion): HostFacts {
  return {
    packageRoot,
    platform,
    architecture: arch,
    uid: getuid?.() ?? 0,
    kernel: kernelRelease(),
    cacheDirectory: join(home, '.svc', 'cache'),
    get temporaryDirectory() {
      return tmpdir();
    },
    ceiling,
  };
}

/** What `uname` says too; `node:os` would be loaded for that, and then for its directory of temporary files, which few starts need. */
function kernelRelease(): string {
  return unlessRefused(() => readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim(), null) ?? release();
}

interface DelegationQuestion {
  readonly spawnAllow: readonly string[];
  /** The process environment over the `.env` file. */
  readonly env: Environment;
  /** The process environment alone. */
  readonly processEnv: Readonly<Record<string, string | undefined>>;
}

/** What the environment of a launch says about delegation. */
export interface LaunchDelegation {
  /** It is null if unset, which matters only to a capsule that delegates. */
  readonly refereeUrl: string | null;
  /** It is null for a capsule that nobody delegated to. */
  readonly spawner: SpawnerHandle | null;
  readonly refusals: readonly Diagnostic[];
}

/** Reads `SVC_REFEREE_URL` and `SVC_SPAWNER`. Refusals: `E-RUN-019`, `E-RUN-020` (D2 "Other codes"). */
export function delegationOfLaunch({ spawnAllow, env, processEnv }: DelegationQuestion): LaunchDelegation {
  const refusals: Diagnostic[] = [];
  let refereeUrl: string | null = null;
  let spawner: SpawnerHandle | null = null;
  const unreadable = diagnosticOf(() => {
    spawner = parseSpawnerHandle(processEnv['SVC_SPAWNER']);
  });
  if (unreadable !== null) refusals.push(unreadable);
  const unknown = diagnosticOf(() => {
    refereeUrl = refereeAddress(env['SVC_REFEREE_URL']);
  });
  if (unknown !== null && spawnAllow.length > 0) refusals.push(unknown);
  return { refereeUrl, spawner, refusals };
}

/** The base URL of the referee. Throws `E-RUN-019` for one that is not set, blank or no such address. */
export function refereeAddress(value: string | undefined): string {
  const url = value?.trim() ?? '';
  if (url === '') throw noReferee('SVC_REFEREE_URL is not set');
  const fault = endpointFault(url) ?? (/[?#]/.test(url) ? 'must not have a query or fragment' : undefined);
  if (fault !== undefined) throw noReferee(`SVC_REFEREE_URL ${fault}`);
  return url;
}

function noReferee(problem: string): Diagnostic {
  return new Diagnostic('E-RUN-019', `capabilities.spawn.allow needs a referee, and ${problem}`, {
    hint: 'start svc-referee and set SVC_REFEREE_URL to the address it prints, such as http://127.0.0.1:7700',
  });
}

/**
 * The handle of `SVC_SPAWNER`; null when the variable is not set, since nobody delegated to this capsule. Throws `E-RUN-020` for anything
 * that cannot be read as a handle.
 */
function parseSpawnerHandle(text: string | undefined): SpawnerHandle | null {
  if (text === undefined) return null;
  const decoded = decodeSpawnerHandle(text);
  if (decoded.kind === 'handle') return decoded.handle;
  throw new Diagnostic('E-RUN-020', `SVC_SPAWNER cannot be read as a spawner handle: ${decoded.problem}`, {
    hint: 'a parent capsule sets it for its child; unset it to run this capsule by hand',
  });
}

/** The request with the folder that an editor has opened as what the manifest makes of it. */
export function placedRequest<Request extends Pick<RunRequest, 'openFolder' | 'project' | 'workdir'>>(
  request: Request,
  { project }: Pick<EffectiveGrants, 'project'>,
): Request {
  const { openFolder: path } = request;
  if (path === undefined) return request;
  return project === null ? { ...request, workdir: path } : { ...request, project: { path, isOpen: true } };
}
