/** Plans an artifact that comes from a place of its own, and how an entry gets the version that was chosen. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ArtifactEdit, ArtifactRow } from '@svc/artifacts/manifest/edit-artifacts.ts';
import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import type { ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { readLock } from '@svc/artifacts/store/lockfile.ts';
import { sourceAt } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { copiesFromPlace } from '@svc/artifacts/store/taken-copies.ts';
import { refuseOtherRuntime } from './listed-entry.ts';
import type { OpenedProject, PlannedChange } from './opened-project.ts';

/** What comes from a place of its own; which runtime it has is known once it is fetched. */
export function planPlace(
  { name, version }: ArtifactRef,
  from: string,
  opened: OpenedProject,
  usual: ArtifactEntry['runtime'] = 'tool',
): PlannedChange {
  const present = presentEntry(name, opened);
  const written = { name, version, range: null, from };
  const edit = (runtime: ArtifactEntry['runtime'] | null): ArtifactEdit => editTo(written, runtime, present);
  return {
    name,
    before: present?.version ?? null,
    after: version,
    range: null,
    candidate: null,
    wanted: { name, version, from },
    source: sourceAt(from, opened.choice),
    mayTake: copiesFromPlace(from, readLock(opened.request.manifestDir)),
    expectedEdit: edit(present?.runtime ?? usual),
    edit,
  };
}

/** The entry that is there already. `E-REG-029` for one that is taken from a folder of this machine. */
export function presentEntry(name: string, { listed, options }: OpenedProject): ArtifactEntry | undefined {
  const present = listed.find((entry) => entry.name === name);
  if (present?.source === undefined) return present;
  throw new Diagnostic('E-REG-029', `${options.manifest} takes ${name} from a path of this machine (source)`, {
    hint: 'take source out of its entry of artifacts first',
  });
}

interface Written {
  readonly name: string;
  readonly version: string;
  readonly range: string | null;
  readonly from: string | null;
}

/** `E-ART-005` for an artifact of another runtime under a name that is there. */
export function editTo(
  { name, version, range, from }: Written,
  runtime: ArtifactEntry['runtime'] | null,
  present: ArtifactEntry | undefined,
): ArtifactEdit {
  if (present !== undefined) {
    refuseOtherRuntime({ name, version }, runtime, present);
    return { kind: 'change', name, version, range, from };
  }
  const row: ArtifactRow = {
    name,
    version,
    ...(runtime === null || runtime === 'tool' ? {} : { runtime }),
    ...(range === null ? {} : { range }),
    ...(from === null ? {} : { from }),
  };
  return { kind: 'add', row };
}
