/** Finds an entry of `artifacts` by its name, and refuses what does not fit it. */

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import { discoveredFolder } from '@svc/artifacts/store/discovered-skills.ts';
import { type ArtifactRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import type { OpenedProject } from './opened-project.ts';

/** The entry of this name; `E-REG-001` where the manifest lists none. */
export function listedEntry(name: string, { listed, loaded, options }: OpenedProject): ArtifactEntry {
  const entry = listed.find((each) => each.name === name);
  if (entry !== undefined) return entry;
  const names = listed.map((each) => each.name);
  const folder = discoveredFolder(loaded, name);
  if (folder !== null) {
    throw new Diagnostic('E-REG-001', `${name} has no entry in ${options.manifest}: skills.discover finds it`, {
      hint: `change or remove ${quoted(folder)}; svc install then records what is there`,
    });
  }
  throw new Diagnostic('E-REG-001', `${options.manifest} lists no artifact ${quoted(name)}`, {
    hint: didYouMean(name, names) ?? `it lists ${names.join(', ') || 'none'}`,
  });
}

/** `E-ART-005` for an artifact of another runtime than its entry has; `runtime` is null where the archive does not say. */
export function refuseOtherRuntime(
  ref: ArtifactRef,
  runtime: ArtifactEntry['runtime'] | null,
  present: ArtifactEntry,
): void {
  if (runtime === null || runtime === present.runtime) return;
  const message = `${spell(ref)} is a ${runtime}, but the manifest lists ${ref.name} as a ${present.runtime}`;
  throw new Diagnostic('E-ART-005', message, { hint: `svc remove ${ref.name} takes it out first` });
}
