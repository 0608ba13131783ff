/** Checks that an archive holds what its manifest promises. */

import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type AnyManifest, parseAnyManifest } from '../manifest/artifact-manifest.ts';
import { artifactName, exactVersion } from '../manifest/name-schemas.ts';
import { serverFile, type ArtifactManifest } from '../manifest/schema.ts';
import type { YamlSource } from '../manifest/yaml-source.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { capsuleAt, manifestFile, skillFile, standardSkillFile } from './installed-artifact.ts';

export const componentFile = 'component.wasm';
/** The tools that an MCP server on the web listed, as a list of JSON. */
export const toolsFile = 'tools.json';
/** What `svc build` makes the component of, where there is one. */
export const componentSource = 'component.ts';

export type ArtifactKind = ArtifactManifest['runtime'] | 'capsule';

/** What stands in an archive: another artifact, or a capsule, whose name and version alone concern the store. */
export type InspectedContent =
  | { readonly kind: 'capsule'; readonly ref: ArtifactRef }
  | { readonly kind: ArtifactManifest['runtime']; readonly ref: ArtifactRef; readonly manifest: ArtifactManifest };

const capsuleIdentity = z.object({ name: artifactName, version: exactVersion });

/**
 * The file that an artifact is about: its component, its program or its text. Returns null for an MCP server that is a program of
 * the host.
 */
export function requiredFile(manifest: ArtifactManifest): string | null {
  if (manifest.runtime === 'skill') return skillFile;
  switch (manifest.implementation) {
    case 'native':
      return `bin/${manifest.name}`;
    case 'mcp':
      return manifest.url === undefined ? serverFile(manifest.command ?? []) : toolsFile;
    case 'wasm':
      return componentFile;
  }
}

/** Reads and checks the manifest of an artifact, and that the file it is about is there and of its kind. */
export async function inspectContent(content: ArtifactContent): Promise<InspectedContent> {
  const found = await readManifest(content);
  if (found.kind === 'capsule') return { kind: 'capsule', ref: capsuleRef(found.source) };
  const { manifest } = found;
  await checkRequiredFile(content, manifest);
  return { kind: manifest.runtime, ref: { name: manifest.name, version: manifest.version }, manifest };
}

/** The text of `svc.yaml`; `E-ART-004` when it is not at the root. */
export async function readManifestText(content: ArtifactContent): Promise<string> {
  if (content.has(manifestFile)) return await content.readText(manifestFile);
  throw new Diagnostic('E-ART-004', `${content.where} has no ${manifestFile} at its root`, {
    hint: `${manifestFile} lies beside the files it is about, not in a folder of its own`,
  });
}

/** The manifest of whatever this is. Throws `E-ART-004` when it is missing, and a `DiagnosticList` of what is wrong with it. */
export async function readManifest(content: ArtifactContent): Promise<AnyManifest> {
  return parseAnyManifest(await readManifestText(content), `${content.where}/${manifestFile}`);
}

/** The same of an artifact; `E-ART-005` when it is the manifest of a capsule. */
export async function readArtifactManifest(content: ArtifactContent): Promise<ArtifactManifest> {
  const found = await readManifest(content);
  if (found.kind === 'artifact') return found.manifest;
  throw capsuleAt(content.where);
}

/** `E-ART-004` when the file an artifact is about is missing, empty, or no component. */
export async function checkRequiredFile(content: ArtifactContent, manifest: ArtifactManifest): Promise<void> {
  const usual = requiredFile(manifest);
  if (usual === null) return;
  const file = usual === skillFile && !content.has(usual) && content.has(standardSkillFile) ? standardSkillFile : usual;
  if (!content.has(file)) {
    throw new Diagnostic('E-ART-004', `${content.where} has no ${file}`, { hint: hintFor(manifest) });
  }
  if (usual === skillFile) {
    await content.readText(file);
    return;
  }
  // Programs can be large: their first bytes show what they are.
  const bytes = await content.readStart(file, magicBytes);
  const fault = file === componentFile ? componentFault(bytes) : bytes.length === 0 ? 'is empty' : null;
  if (fault !== null) throw new Diagnostic('E-ART-004', `${content.where}: ${file} ${fault}`);
}

function capsuleRef({ file, value }: YamlSource): ArtifactRef {
  const identity = capsuleIdentity.safeParse(value);
  if (identity.success) return identity.data;
  const issue = identity.error.issues[0];
  throw new Diagnostic('E-MAN-003', `${file}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not valid'}`);
}

/** The preamble of a component. */
const magicBytes = 8;
const magic = Buffer.from([0x00, 0x61, 0x73, 0x6d]);
const moduleLayer = 0;
const componentLayer = 1;

/** Why bytes are not those of a component, as a clause; null for one, by its preamble. */
export function componentFault(bytes: Buffer): string | null {
  if (bytes.length < magicBytes || !bytes.subarray(0, 4).equals(magic)) return 'is not WebAssembly';
  const layer = bytes.readUInt16LE(6);
  if (layer === moduleLayer) return 'is a WebAssembly module, not a component';
  return layer === componentLayer ? null : `is of an unknown WebAssembly layer (${layer})`;
}

function hintFor(manifest: ArtifactManifest): string {
  if (manifest.runtime === 'skill') return `the text of a skill is in ${skillFile}`;
  switch (manifest.implementation) {
    case 'native':
      return 'with implementation: native the program is bin/<name>';
    case 'mcp':
      return manifest.url === undefined
        ? `command in ${manifestFile} begins with this file`
        : `${toolsFile} has the tools of the server on the web, as svc add asks it for`;
    case 'wasm':
      return `a component is in ${componentFile}; a program in bin/<name> needs implementation: native`;
  }
}

/** The files of one artifact, wherever they lie: an archive, or a directory that was read whole. */
export interface ArtifactContent {
  /** The place, for messages. */
  readonly where: string;
  has(name: string): boolean;
  /** `E-ART-004` when there is no such file, `E-ART-001` when its bytes are not what they should be. */
  read(name: string): Promise<Buffer>;
  /** The first bytes of a file; the rest is neither read nor checked. */
  readStart(name: string, maxBytes: number): Promise<Buffer>;
  /** A file as text; `E-ART-003` above 1 MiB. */
  readText(name: string): Promise<string>;
}
