/** Keeps and masks in a workdir that somebody has named what `svc --write` does in a project folder. A fresh one, and that of a child, hold nothing that was there before. */

import { sep } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { closedFolderAround, stateName } from '@svc/kit/files/masked-names.ts';
import { systemFolder } from '@svc/kit/files/system-folder.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { realPath } from '@svc/record/sessions/session-directories.ts';
import { ownPlaces, mappedProcess } from '@svc/sandbox/own-process.ts';
import { openProjectFolder } from '@svc/sandbox/project-folder.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { LaunchScope, ScopeRequest } from '../launch/scope-of-launch.ts';
import { GivenFolder } from '../launch/given-project.ts';
import { capsuleFiles } from '../launch/open-given-folder.ts';

interface NamedWorkdir {
  readonly request: Pick<ScopeRequest, 'writesGit' | 'cwd' | 'env'>;
  readonly launch: Pick<LaunchScope, 'grants' | 'containment' | 'loaded' | 'source'>;
  readonly packageRoot: string;
  /** Whether an artifact brings a program: components keep and mask by themselves. */
  readonly bringsPrograms: boolean;
  /** Links resolved. */
  readonly workdir: string;
  /** Whether it is only reported: nothing is made in it. */
  readonly isReport?: boolean;
}

interface NamedLaunch extends Pick<NamedWorkdir, 'request'> {
  readonly launch: PreparedLaunch;
}

/**
 * The workdir as a session takes it. `E-CAP-023` to `E-CAP-025` where the host cannot keep from programs what is masked or kept in it, or `svc`
 * itself.
 */
export function openNamedWorkdir({
  request,
  launch,
  packageRoot,
  bringsPrograms,
  workdir,
  isReport = false,
}: NamedWorkdir): GivenFolder {
  const { containment, grants, loaded, source } = launch;
  const { achieved } = containment;
  const { cwd, env } = request;
  const writable = !grants.readOnly;
  const hasPrograms = bringsPrograms || grants.shellAllow.length > 0 || grants.processDriver !== null;
  const folder = openProjectFolder({
    path: workdir,
    isWorkdir: true,
    writable,
    keepsGit: !request.writesGit,
    isReport,
    own: writable
      ? [
          ...ownPlaces(mappedProcess({ packageRoot, node: process.execPath, nodeOptions: process.execArgv, cwd, env })),
          ...capsuleFiles(loaded, source.lockDirectory),
        ]
      : [],
    splits: achieved === 'scoped' && hasPrograms,
    clock: systemClock,
    uid: process.getuid?.() ?? 0,
  });
  return new GivenFolder(folder, achieved, { mayDelegate: grants.spawnAllow.length > 0 });
}

/** The launch with the workdir that was named as its folder. Throws what `openNamedWorkdir` throws. */
export function withNamedWorkdir({ request, launch }: NamedLaunch, workdir: string): PreparedLaunch {
  const { grants, artifacts, packageRoot } = launch;
  const bringsPrograms = artifacts.some(
    ({ manifest }) => 'implementation' in manifest && manifest.implementation !== 'wasm',
  );
  const project = openNamedWorkdir({ request, launch, packageRoot, bringsPrograms, workdir });
  // A program would find an empty place there. What git obeys is mounted read only for it.
  const scopes = [grants.filesystemScope, ...grants.artifacts.map(({ preopen }) => preopen?.scope)];
  for (const scope of scopes) project.mask({ scope: scope ?? '.', writable: false });
  return { ...launch, project, scope: { ...launch.scope, ...project.scope } };
}

/** `E-RUN-029` for a folder of the system that root would open to an agent, and for one that would be masked. Nothing has been made in it. */
export function refuseClosedFolder(workdir: string): void {
  const place = realPath(workdir);
  const masked = closedFolderAround(place);
  const system = process.getuid?.() === 0 ? systemFolder(place) : null;
  const [gives, why] =
    masked !== undefined
      ? [masked === stateName ? 'what svc itself keeps' : 'keys', `lies in a folder named ${masked}`]
      : ['what this machine runs', system];
  // The root holds the manifest, and is refused to everybody for that.
  if (why === null || place === sep) return;
  throw new Diagnostic('E-RUN-029', `the workdir ${workdir} would give the agent ${gives}: it ${why}`, {
    hint: 'name a directory of its own with --workdir, or leave the flag out',
  });
}
