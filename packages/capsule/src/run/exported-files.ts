/** The file planes of a session: the files that its manifest exports, held to the workdir and served by its listener. */

import { diagnosticOf, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import type { SessionDirectories } from '@svc/record/sessions/session-directories.ts';
import type { RefusedRequests } from '@svc/session/files/refused-requests.ts';
import {
  noPlanes,
  resourceDoor,
  type ResourceDoor,
  type ResourcePlanesOptions,
} from '@svc/session/files/resource-routes.ts';
import type { Session } from '@svc/session/session.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { SessionRecord } from './session-record.ts';
import type { SessionPeerFiles } from '../stage/stage-peer-files.ts';

/** Throws why the session is refused for what it exports. */
export async function holdExportRoots({ loaded }: PreparedLaunch, { workdir }: SessionDirectories): Promise<void> {
  const { exports } = loaded.manifest;
  if (exports.files === undefined && exports.peer_files === undefined) return;
  const { checkExportRoots } = await import('@svc/session/files/export-root.ts');
  const problems = checkExportRoots({ workdir, exports });
  if (problems.length > 0) throw new DiagnosticList(problems);
}

interface ResourceParts {
  readonly directories: SessionDirectories;
  readonly recorded: SessionRecord;
  readonly peerFiles: SessionPeerFiles;
  readonly session: Session;
  readonly refusals: RefusedRequests;
  readonly isOver: () => boolean;
}

/** The file planes. When an accepted request cannot be recorded, the session ends, as it does for every trace line that is lost (D1 "Task states" 2). */
export async function resourcesOf(launch: PreparedLaunch, parts: ResourceParts): Promise<ResourceDoor> {
  const { session, recorded } = parts;
  const files = launch.loaded.manifest.exports.files ?? null;
  const peerFiles = parts.peerFiles.served;
  const options: ResourcePlanesOptions = {
    workdir: parts.directories.workdir,
    files,
    peerFiles,
    achieved: launch.scope.containment.achieved,
    hides: launch.project?.hides,
    generation: () => session.board.generation,
    spoolDirectory: parts.directories.session,
    onAccepted: (event) => {
      const lost = diagnosticOf(() => recorded.record(event));
      if (lost !== null) session.trap(lost);
    },
    refusals: parts.refusals,
    isOver: parts.isOver,
  };
  if (files === null && peerFiles === null) return resourceDoor(options, noPlanes);
  const { exportedPlanes } = await import('@svc/session/files/resource-planes.ts');
  return resourceDoor(options, exportedPlanes(options));
}
