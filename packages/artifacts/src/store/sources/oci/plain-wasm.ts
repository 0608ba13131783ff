/** Puts bare components into OCI registries in the form of other WebAssembly projects, and finds theirs there. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { bodyOf } from '@svc/kit/net/request-run.ts';
import { spellOci, type OciReference } from '../../../manifest/oci-reference.ts';
import type { ArtifactRef } from '../../artifact-ref.ts';
import { largestComponent, largestComponentShown } from '../../archive-entry.ts';
import { nothingAt, placeIn } from './reference-place.ts';
import { decodeDocument, encodeComponent, type PlainComponent } from './documents.ts';
import type { OciRepository } from './repository.ts';

/** The tag of the bare component of a version. */
export function wasmTagOf(tag: string): string {
  return `${tag}-wasm`;
}

/** Puts a component under a tag of its own; a repeat is harmless. `E-REG-003` where the tag has something else. */
export async function pushComponent(
  repository: OciRepository,
  { tag, ref, component }: { readonly tag: string; readonly ref: ArtifactRef; readonly component: PlainComponent },
): Promise<void> {
  const { manifest, blobs } = encodeComponent(component, ref);
  const { digest } = manifest.descriptor;
  const before = await repository.document(tag, 'pull,push');
  if (before?.digest === digest) return;
  if (before === null) {
    for (const { descriptor, bytes } of blobs) await repository.pushBlob(descriptor, bodyOf(bytes));
    await repository.pushDocument(manifest, tag);
    const after = await repository.document(tag, 'pull,push');
    if (after?.digest === digest) return;
  }
  throw new Diagnostic('E-REG-003', `${repository.label}:${tag} is published already, and is something else`, {
    hint: 'what is published never changes: publish a new version',
  });
}

/** A component that a reference leads to. */
export interface FoundComponent {
  readonly bytes: Buffer;
  /** The digest of the document that names it. */
  readonly digest: string;
}

/** Reads the component that a reference names. Throws `E-REG-001` if it is missing, `E-REG-002` if the digest differs, `E-ART-014` if it is not a component. */
export async function fetchComponent(
  reference: OciReference,
  { direct: repository }: OciRepository,
): Promise<FoundComponent> {
  const found = await repository.document(await placeIn(repository, reference));
  if (found === null) throw nothingAt(reference);
  const name = spellOci(reference);
  const document = decodeDocument(found.bytes, found.mediaType);
  if (document.kind !== 'wasm') {
    const what = document.kind === 'other' ? document.found : 'an artifact of svc, which has its svc.yaml inside';
    throw new Diagnostic('E-ART-014', `${name} is no plain WebAssembly component, but ${what}`, {
      hint: 'leave --artifact-manifest out for what svc publish has made',
    });
  }
  const { component } = document;
  const bytes =
    component.size > largestComponent
      ? undefined
      : await readUpTo(repository.openBlob(component).bytes, largestComponent);
  if (bytes === undefined)
    throw new Diagnostic('E-ART-003', `the component of ${name} is larger than ${largestComponentShown}`);
  return { bytes, digest: found.digest };
}

/** `E-ART-014` for a bare component where an artifact is wanted. */
export function foreignComponent(where: string): Diagnostic {
  return new Diagnostic('E-ART-014', `${where} is a WebAssembly component alone, without the svc.yaml of an artifact`, {
    hint: 'write its svc.yaml and name it with --artifact-manifest of svc add or svc install; svc.lock then holds what they make of it',
  });
}
