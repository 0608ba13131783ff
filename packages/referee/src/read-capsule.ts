/** Reads one capsule of the local store. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { lower } from '@svc/artifacts/grants/effective-grants.ts';
import { envelopeOf } from '@svc/artifacts/grants/spawn-envelope.ts';
import { archiveKind } from '@svc/artifacts/manifest/artifact-manifest.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { type ArtifactRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import { manifestFile, readManifestText } from '@svc/artifacts/store/inspect-content.ts';
import { openStored } from '@svc/artifacts/store/open-stored.ts';
import type { ResolvedCapsule } from './capsule-registry.ts';

export interface CapsuleStore {
  /** A directory laid out as a store (docs/cli.md "Files"). It need not exist, and nothing is ever written. */
  readonly root: string;
  /** `<os>-<arch>`: its variant goes before the generic file. */
  readonly platform: string;
  /** What `${VARIABLE}` references are resolved from: the daemon's own (D2 "Daemon options" 6). */
  readonly env: Environment;
}

/**
 * Reads a capsule that the store has: its bytes have the recorded hash, and of them only the manifest is unpacked, into memory.
 * Throws a `Diagnostic` or `DiagnosticList`: what `openStored` throws, `E-ART-004` and `E-ART-005` when it is no such capsule, and
 * what its manifest is refused with. `inference.api_key` is not resolved.
 */
export async function readCapsule(ref: ArtifactRef, { root, platform, env }: CapsuleStore): Promise<ResolvedCapsule> {
  const { stored, archive } = await openStored(root, ref, platform);
  try {
    const text = await readManifestText(archive);
    if (archiveKind(text, manifestFile) !== 'capsule') throw new Diagnostic('E-ART-005', 'it is not a capsule');
    const loaded = loadCapsuleManifest({ file: manifestFile, text, env, purpose: 'inspect' });
    const { name, version } = loaded.manifest;
    // Its own name is not repeated: it may have come from a variable.
    if (name !== ref.name || version !== ref.version) {
      throw new Diagnostic('E-ART-005', `its ${manifestFile} does not say that it is ${spell(ref)}`);
    }
    return { name, version, sha256: stored.sha256, envelope: envelopeOf(lower(loaded).grants, loaded.references) };
  } finally {
    await archive.file.close();
  }
}
