/** What `svc install`, `svc add` and `svc publish` share for components that stand alone in an OCI registry. */

import { resolve } from 'node:path';

import type { OciReference } from '@svc/artifacts/manifest/oci-reference.ts';
import { readManifest } from '@svc/artifacts/store/change-artifacts.ts';
import { componentFault } from '@svc/artifacts/store/inspect-content.ts';
import type { PlainComponent } from '@svc/artifacts/store/sources/oci/documents.ts';
import { PackedComponentSource } from '@svc/artifacts/store/sources/oci/packed-component.ts';
import { ociAccessOf, type RegistryChoice } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { externNames } from '@svc/components/compiler/interface-names.ts';
import { MalformedWasm } from '@svc/components/core-module.ts';
import { checkArtifact } from '@svc/session/tools/argument-check.ts';

/** A component with an `svc.yaml` of this machine (`--artifact-manifest`), as a source of the artifact that both make. */
export function packedComponent(
  reference: OciReference,
  manifest: string,
  { choice, cwd }: { readonly choice: RegistryChoice; readonly cwd: string },
): PackedComponentSource {
  const manifestText = readManifest(resolve(cwd, manifest));
  const exportsOf = (bytes: Buffer): readonly string[] | null => plainComponent(bytes)?.exports ?? null;
  const packing = { manifestText, manifestPath: manifest, exportsOf, checkArtifact };
  return new PackedComponentSource(reference, packing, ociAccessOf(choice));
}

/** Bytes with what they import and export; null for what is no component. */
export function plainComponent(bytes: Buffer): PlainComponent | null {
  if (componentFault(bytes) !== null) return null;
  try {
    return { bytes, ...externNames(bytes) };
  } catch (error) {
    if (error instanceof MalformedWasm) return null;
    throw error;
  }
}
