/** What commands share that take a component alone from an OCI registry, or put one there. */

import { resolve } from 'node:path';

import type { OciReference } from '@svc/artifacts/manifest/oci-reference.ts';
import { readManifest } from '@svc/artifacts/store/change-artifacts.ts';
import type { PlainComponent } from '@svc/artifacts/store/sources/oci/documents.ts';
import { PackedComponentSource } from '@svc/artifacts/store/sources/oci/packed-component.ts';
import { ociAccessOf, type RegistryChoice } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { externNames } from '@svc/components/compiler/interface-names.ts';
import { MalformedWasm } from '@svc/components/core-module.ts';
import { checkArtifact } from '../../tools/argument-check.ts';

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

const preambleBytes = 8;
/** Of a component, with the layer that tells it from a module. */
const componentStart = Buffer.from([0x00, 0x61, 0x73, 0x6d]);
const componentLayer = 1;

/** Bytes with what they import and export; null for what is no component. */
export function plainComponent(bytes: Buffer): PlainComponent | null {
  const isComponent =
    bytes.length >= preambleBytes &&
    bytes.subarray(0, componentStart.length).equals(componentStart) &&
    bytes.readUInt16LE(6) === componentLayer;
  if (!isComponent) return null;
  try {
    return { bytes, ...externNames(bytes) };
  } catch (error) {
    if (error instanceof MalformedWasm) return null;
    throw error;
  }
}
