/** Finds and opens the folder that a manifest asks for in `capabilities.project` (docs/manifest.md "A folder of yours"). */

import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';

import type { EffectiveGrants, ProjectGrant } from '@svc/artifacts/grants/effective-grants.ts';
import type { KeyPath } from '@svc/artifacts/manifest/key-path.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { bundledVersion } from '@svc/artifacts/manifest/names.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { isMaskedName } from '@svc/kit/files/masked-names.ts';
import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { closedFolderRoot } from '@svc/record/sessions/adhoc-root.ts';
import { givenFolder } from './given-folder.ts';
import type { CapsuleSource } from './launch-host.ts';
import { capsuleFiles, openGivenFolder } from './open-given-folder.ts';
import type { GivenProject, NamedProject, RunRequest } from './running-capsule.ts';

interface GrantQuestion {
  readonly request: Pick<RunRequest, 'published' | 'project' | 'workdir' | 'cwd' | 'home' | 'env'>;
  readonly source: CapsuleSource;
  readonly loaded: LoadedManifest;
  readonly grants: EffectiveGrants;
  readonly achieved: ContainmentClass;
  readonly env: Environment;
  readonly packageRoot: string;
  readonly isReport: boolean;
}

/** What the folder makes of a launch. */
export interface GrantedFolder {
  readonly project: GivenProject | null;
  readonly source: CapsuleSource;
  /** With the name of the person for commits, where the manifest lists its variables and nobody has set them. */
  readonly env: Environment;
  readonly refusals: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
}

/** What refuses the folder is among the refusals, `E-CAP-022` to `E-CAP-025` and `E-CAP-028`, so that a report has it beside all others. */
export async function grantedFolder(question: GrantQuestion): Promise<GrantedFolder> {
  const { source, env } = question;
  try {
    return await opened(question);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return { project: null, source, env, refusals: [error], warnings: [] };
  }
}

async function opened(question: GrantQuestion): Promise<GrantedFolder> {
  const { request, source, loaded, grants, achieved, env, packageRoot, isReport } = question;
  const { cwd, home, project: named } = request;
  const grant = grants.project;
  if (grant === null) throw notGranted(loaded);
  const path = folderOf(grant, question);
  const writable = grant.write && named?.ofParent?.write !== false;
  checkAccess(path, writable, question);
  givenFolder(path, home);
  const masks = masksOf(path, grant, { manifest: resolve(cwd, source.manifestFile), ofParent: named?.ofParent?.mask });
  const { project, git } = await openGivenFolder(
    {
      path,
      writable,
      keepsGit: true,
      masks: masks.paths,
      own: capsuleFiles(loaded, source.lockDirectory),
      achieved,
      hasPrograms: mayRunPrograms(loaded, grants),
      runsGit: grants.shellAllow.includes('git'),
      isReport,
    },
    { packageRoot, cwd, home, env: request.env },
  );
  const unset = Object.entries(git?.identity ?? {}).filter(
    ([name]) => grants.envAllow.includes(name) && env[name] === undefined,
  );
  const isOfManifest = grant.path !== null && (named === undefined || named.isOpen === true);
  const holdsRoot = named?.isOpen === true && isBeneath(path, realPath(source.root));
  return {
    project,
    source: isOfManifest || holdsRoot ? keptOutside(source, home) : source,
    env: unset.length === 0 ? env : { ...env, ...Object.fromEntries(unset) },
    refusals: [],
    warnings: [...masks.absent.map((mask) => absentMask(mask, loaded)), ...(git?.warnings ?? [])],
  };
}

/** Its sessions lie in the home: a capsule that only reads leaves nothing in the folder, and no agent works in what an earlier one left. */
function keptOutside(source: CapsuleSource, home: string): CapsuleSource {
  const { root, lockDirectory } = source;
  const state = closedFolderRoot(home, root);
  return {
    ...source,
    state,
    isOutside: true,
    lockDirectory: existsSync(join(lockDirectory, 'svc.lock')) ? lockDirectory : state,
  };
}

/** With links resolved. */
function folderOf(grant: ProjectGrant, { request, source, loaded }: GrantQuestion): string {
  const { published, project: named, workdir } = request;
  const isDelegated = named?.ofParent !== undefined;
  if (workdir !== null && !isDelegated) {
    throw refused(loaded, [], 'takes no --workdir: the session has a fresh one, with the folder in it as project/', {
      hint: 'leave --workdir out',
    });
  }
  const isOpen = named?.isOpen === true;
  if (named === undefined || (isOpen && grant.path !== null && published === null)) {
    if (grant.path === null || published !== null) throw notNamed(grant, loaded, published !== null);
    const base = source.manifestDirectory;
    const folder = existingFolder(join(base, grant.path), loaded, 'path');
    if (!isBeneath(realPath(base), folder)) {
      const problem = `${JSON.stringify(grant.path)} leads out of the folder of the manifest, to ${JSON.stringify(folder)}`;
      throw refused(loaded, ['path'], problem, {
        hint: 'name a folder below; --project names any other, without path',
      });
    }
    const open = named === undefined ? folder : realPath(named.path);
    if (!isBeneath(folder, open) && !isBeneath(open, folder)) {
      const problem = `names ${JSON.stringify(folder)}, and ${JSON.stringify(open)} is open in the editor`;
      throw refused(loaded, ['path'], problem, {
        hint: 'open that folder, or take path out of the manifest: the folder is the one that is open then',
      });
    }
    return folder;
  }
  if (grant.path !== null && published === null) {
    throw refused(loaded, ['path'], `names ${JSON.stringify(grant.path)}, and so does --project`, {
      hint: 'leave --project out, or take path out of the manifest',
    });
  }
  return existingFolder(named.path, loaded, null);
}

function existingFolder(path: string, loaded: LoadedManifest, key: 'path' | null): string {
  const shown = JSON.stringify(path);
  const hint =
    key === null
      ? 'name a folder that is there: --project <dir>'
      : 'name a folder below that of the manifest, . for that itself';
  try {
    const real = realpathSync(path);
    if (statSync(real).isDirectory()) return real;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw refused(loaded, key === null ? [] : [key], `${shown} cannot be opened: ${systemReason(error)}`, { hint });
  }
  throw refused(loaded, key === null ? [] : [key], `${shown} is a file`, { hint });
}

function checkAccess(path: string, writable: boolean, { loaded }: GrantQuestion): void {
  const tried = (mode: number): string | null => {
    try {
      accessSync(path, mode);
      return null;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      return systemReason(error);
    }
  };
  const closed = tried(constants.R_OK | constants.X_OK);
  const shown = JSON.stringify(path);
  if (closed !== null) {
    throw refused(loaded, [], `${shown} cannot be read by this user: ${closed}`, {
      hint: 'let this user read it, or name another folder',
    });
  }
  const kept = writable ? tried(constants.W_OK) : null;
  if (kept === null) return;
  throw refused(loaded, ['write'], `${shown} cannot be written in by this user: ${kept}`, {
    hint: 'let this user write there, or set write: false',
  });
}

interface MaskSources {
  readonly manifest: string;
  readonly ofParent: readonly string[] | undefined;
}

/** The masks of the manifest, the manifest itself, and those of the capsule that delegates; of a link, what it leads to as well. */
function masksOf(
  folder: string,
  { mask }: ProjectGrant,
  { manifest, ofParent = [] }: MaskSources,
): { readonly paths: readonly string[]; readonly absent: readonly string[] } {
  const beside = join(realPath(join(manifest, '..')), basename(manifest));
  const places = [...mask, ...ofParent].map((each) => join(folder, each)).concat(beside);
  const all = places
    .flatMap((place) => [place, realPath(place)])
    .filter((place) => place !== folder && isBeneath(folder, place));
  return {
    paths: [...new Set(all.map((place) => relative(folder, place)))],
    absent: mask.filter((each) => !existsSync(join(folder, each))),
  };
}

/** Tools that come with `svc`, as components: no program is behind them. */
const components: ReadonlySet<string> = new Set(['svc-tool-editor', 'svc-tool-request-input']);

/** What an artifact is made of is known once it has been found: until then it may be a program. */
function mayRunPrograms({ manifest }: LoadedManifest, { shellAllow, processDriver }: EffectiveGrants): boolean {
  const isProgram = manifest.artifacts.some(
    ({ name, version, runtime }) => runtime === 'tool' && !(components.has(name) && version === bundledVersion),
  );
  return isProgram || shellAllow.length > 0 || processDriver !== null;
}

const key = ['capabilities', 'project'] as const;

function refused(
  loaded: LoadedManifest,
  below: KeyPath,
  problem: string,
  { hint }: { readonly hint: string },
): Diagnostic {
  const path = [...key, ...below];
  return new Diagnostic('E-CAP-028', `${path.join('.')}: ${problem}`, { location: loaded.locate(path, 'key'), hint });
}

function notNamed({ path }: ProjectGrant, loaded: LoadedManifest, isPublished: boolean): Diagnostic {
  const why = isPublished && path !== null ? 'of a published capsule names no folder of this machine' : 'names no path';
  return refused(loaded, [], `${why}, and no folder was given`, {
    hint: 'give it one: --project <dir>, such as --project .',
  });
}

function notGranted({ file }: LoadedManifest): Diagnostic {
  return new Diagnostic('E-CAP-028', `--project names a folder, and ${file} has no capabilities.project`, {
    hint: 'add capabilities: { project: {} } to the manifest, or leave --project out',
  });
}

/** A name that was misspelt must not open what it was to hide. */
function absentMask(mask: string, { locate }: LoadedManifest): Diagnostic {
  const message = `capabilities.project.mask: ${JSON.stringify(mask)} is not there`;
  return new Diagnostic('W-SEC-034', message, {
    location: locate([...key, 'mask'], 'key'),
    hint: 'it is masked once it is there; correct the path if it was meant to name something else',
  });
}

/** What a capsule hands on to those that it delegates to; null without a folder. What is masked by its name is so for them too. */
export function handedOn({ scope }: GivenProject): NamedProject | null {
  const { project_folder: folder } = scope;
  if (folder === undefined || folder.is_workdir === true) return null;
  return {
    path: folder.path,
    ofParent: { write: folder.writable, mask: folder.masked.filter((path) => !path.split('/').some(isMaskedName)) },
  };
}
