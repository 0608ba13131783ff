/** Makes an artifact of a component that another project keeps alone in an OCI registry, with an `svc.yaml` of this machine. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames, printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { parseAnyManifest } from '../../../manifest/artifact-manifest.ts';
import { type OciReference, spellOci } from '../../../manifest/oci-reference.ts';
import type { ArtifactManifest } from '../../../manifest/schema.ts';
import { packArchive } from '../../archive-writer.ts';
import type { ArtifactRef } from '../../artifact-ref.ts';
import { componentFile } from '../../inspect-content.ts';
import { type ArtifactSource, type FetchedArchive, manifestFile } from '../../installed-artifact.ts';
import { type OciAccess, openRepository } from './oci-source.ts';
import { fetchComponent } from './plain-wasm.ts';

/** What a component is packed with. */
export interface ComponentPacking {
  /** The `svc.yaml` that becomes that of the artifact, byte for byte. */
  readonly manifestText: string;
  /** Where it lies, for messages. */
  readonly manifestPath: string;
  /** The names that a component exports; null for bytes that are no component. */
  readonly exportsOf: (component: Buffer) => readonly string[] | null;
  /** Looks at the manifest as `svc build` does; what it throws refuses it. */
  readonly checkArtifact: (manifest: ArtifactManifest) => Promise<void>;
}

/** What a tool exports, in whatever version. */
const wantedExport = 'svc:tool/run';
const [maxNames, maxNameLength] = [6, 100];

/**
 * A source of one artifact, which is packed when it is fetched: the same component and the same `svc.yaml` make the same bytes on every machine.
 * `E-ART-014` for a component that is no tool of `svc`; what a wrong `svc.yaml` is refused with when this is made.
 */
export class PackedComponentSource implements ArtifactSource {
  readonly name: string;
  /** What the `svc.yaml` says that it is. */
  readonly ref: ArtifactRef;
  readonly #reference: OciReference;
  readonly #packing: ComponentPacking;
  readonly #manifest: ArtifactManifest;
  readonly #access: OciAccess;

  constructor(reference: OciReference, packing: ComponentPacking, access: OciAccess) {
    this.name = spellOci(reference);
    this.#reference = reference;
    this.#packing = packing;
    this.#access = access;
    this.#manifest = toolManifest(packing);
    const { name, version } = this.#manifest;
    this.ref = { name, version };
  }

  async fetch(): Promise<FetchedArchive> {
    const { manifestText, checkArtifact } = this.#packing;
    await checkArtifact(this.#manifest);
    const repository = openRepository(this.#reference, this.#access);
    const { bytes, digest } = await fetchComponent(this.#reference, repository);
    this.#refuseForeign(bytes);
    const files = [
      { name: manifestFile, data: Buffer.from(manifestText) },
      { name: componentFile, data: bytes },
    ];
    return {
      platform: null,
      sha256: null,
      size: null,
      bytes: packArchive(files),
      from: `${repository.label}@${digest}`,
      discard: () => {},
    };
  }

  #refuseForeign(component: Buffer): void {
    const found = this.#packing.exportsOf(component);
    if (found?.some((name) => name.replace(/@.*$/s, '') === wantedExport) === true) return;
    const what = found === null ? 'is no WebAssembly component' : `exports ${spelled(found)}, not ${wantedExport}`;
    throw new Diagnostic('E-ART-014', `what ${this.name} has ${what}`, {
      hint: 'build it for the world svc:worlds/tool, which docs/authoring.md describes',
    });
  }
}

/** Names that others have written, a few of them. */
function spelled(names: readonly string[]): string {
  if (names.length === 0) return 'nothing';
  return firstNames(names, maxNames, (name) => printable(shortened(name, maxNameLength)));
}

/** `E-ART-014` for the manifest of anything but a tool that is a component. */
function toolManifest({ manifestText, manifestPath }: ComponentPacking): ArtifactManifest {
  const found = parseAnyManifest(manifestText, manifestPath);
  if (found.kind === 'artifact') {
    const { manifest } = found;
    if (manifest.runtime === 'tool' && manifest.implementation === 'wasm') return manifest;
  }
  throw new Diagnostic('E-ART-014', `${manifestPath} is not the svc.yaml of a tool that is a component`, {
    hint: 'a plain component becomes a tool: write runtime: tool, and no implementation but wasm',
  });
}
