/** Finds the versions in a store that no project needs any more. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { isArtifactName, isExactVersion } from '@svc/artifacts/manifest/names.ts';
import { knownProjects } from '@svc/capsule/launch/known-projects.ts';
import { readLock } from '@svc/artifacts/store/lockfile.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { ownEntry, writtenAt } from '@svc/record/sessions/live-sessions.ts';
import { openPlace, type Prunable, type PruneRequest } from './find-prunable.ts';
import { isAside } from './remove-aside.ts';
import { treeBytes } from './tree-size.ts';

/** An install that goes on may have stored what it is about to record. */
const youngMs = 24 * 3_600_000;

/**
 * What can go from the store of the project, or of the user with `isGlobal`: versions that no `svc.lock` of the project, or of the projects that installs
 * have recorded, names, and that are older than a day. `E-RUN-129` where it is not known what is needed.
 */
export async function findUnneeded(request: PruneRequest, isGlobal: boolean): Promise<readonly Prunable[]> {
  const needed = neededVersions(request, isGlobal);
  const store = isGlobal ? '~/.svc/artifacts' : '.svc/artifacts';
  const held = openPlace(request, store);
  if (held === null) return [];
  const found: Prunable[] = [];
  try {
    for (const name of namesIn(held).filter(isArtifactName)) {
      const folder = `${store}/${name}`;
      const versions = ownEntry(held, name) ? openPlace(request, folder) : null;
      if (versions === null) continue;
      try {
        found.push(...(await unneededIn(versions, { name, folder, needed, request })));
      } finally {
        versions.close();
      }
    }
  } finally {
    held.close();
  }
  return found.toSorted((one, other) => one.atMs - other.atMs);
}

interface Shelf {
  readonly name: string;
  readonly folder: string;
  readonly needed: ReadonlySet<string>;
  readonly request: PruneRequest;
}

async function unneededIn(versions: HeldDirectory, { name, folder, needed, request }: Shelf): Promise<Prunable[]> {
  const found: Prunable[] = [];
  for (const version of namesIn(versions)) {
    const isRest = isAside(version);
    if (!isRest && (!isExactVersion(version) || needed.has(`${name}@${version}`))) continue;
    if (!ownEntry(versions, version)) continue;
    const atMs = writtenAt(versions, version);
    if (!isRest && (request.nowMs - atMs < youngMs || atMs >= request.beforeMs)) continue;
    request.onProgress(`measuring ${name}`);
    const bytes = await treeBytes(versions, version);
    const kind = isRest ? 'rest' : 'artifact';
    found.push({
      kind,
      name: isRest ? version : `${name}@${version}`,
      places: [{ folder, name: version }],
      bytes,
      atMs,
    });
  }
  return found;
}

function namesIn(held: HeldDirectory): readonly string[] {
  return unlessRefused(() => readdirSync(held.path).sort(), []);
}

/** `<name>@<version>` of all that is needed. */
function neededVersions({ root, home }: PruneRequest, isGlobal: boolean): ReadonlySet<string> {
  const projects = isGlobal ? knownProjects(home) : [root];
  if (projects === null) {
    throw unknown('no svc install has recorded a project in ~/.svc/projects.json yet', 'svc install');
  }
  const needed = new Set<string>();
  for (const project of projects) {
    const lock = readLock(project);
    if (lock === null && !isGlobal) throw unknown(`there is no ${join(project, 'svc.lock')}`, 'svc install');
    for (const { name, version } of lock ?? []) needed.add(`${name}@${version}`);
  }
  return needed;
}

function unknown(why: string, command: string): Diagnostic {
  return new Diagnostic('E-RUN-129', `what is needed is not known: ${why}`, {
    hint: `run ${command} in the projects that you use, then prune`,
  });
}
