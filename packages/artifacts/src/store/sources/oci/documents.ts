/** Reads and writes the documents of an OCI registry that an artifact consists of (docs/installing.md "OCI registries"). */

import * as z from 'zod/mini';

import { listOf } from '@svc/kit/bounded-lists.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { parseJson, parseJsonObject } from '@svc/protocol/json-object.ts';
import { archiveType, configType } from './archive-manifest.ts';

export interface PulledDocument {
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

export const manifestType = 'application/vnd.oci.image.manifest.v1+json';
export const indexType = 'application/vnd.oci.image.index.v1+json';
export const artifactType = 'application/vnd.svc.artifact.v1';

/** A component as other projects of WebAssembly keep it: exactly one layer, and a config that says what it needs. */
const wasmConfigType = 'application/vnd.wasm.config.v0+json';
const wasmType = 'application/wasm';

/** A signature, in the form that other tools for such registries look for. */
export const bundleType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
/** The config of a document that needs none. */
export const emptyType = 'application/vnd.oci.empty.v1+json';

const digestShape = /^sha256:[0-9a-f]{64}$/;
const digest = z.string().check(z.regex(digestShape));

const descriptor = z.object({
  mediaType: z.string(),
  digest,
  size: z.int().check(z.minimum(0)),
  artifactType: z.optional(z.string()),
  platform: z.optional(z.object({ os: z.string(), architecture: z.string() })),
});

/** What a document says of another, or of bytes. */
export type Descriptor = z.infer<typeof descriptor>;

const manifest = z.object({
  schemaVersion: z.literal(2),
  mediaType: z.optional(z.literal(manifestType)),
  artifactType: z.optional(z.string()),
  config: descriptor,
  layers: listOf(descriptor),
});

const index = z.object({
  schemaVersion: z.literal(2),
  mediaType: z.optional(z.literal(indexType)),
  manifests: listOf(descriptor),
});

/** What stands under a tag or a digest. */
export type OciDocument =
  /** One archive. */
  | { readonly kind: 'archive'; readonly archive: Descriptor }
  /** A component alone, without anything that says what it is for. */
  | { readonly kind: 'wasm'; readonly component: Descriptor }
  /** The generic file and the variants of one version. */
  | { readonly kind: 'index'; readonly manifests: readonly Descriptor[] }
  /** Something of other tools; `found` says what, for a person. */
  | { readonly kind: 'other'; readonly found: string };

/** The media type of a document: as the registry says, or as stands in it where what is said is of no use. It stays so where a document could be of either kind. */
export function typeOf(bytes: Buffer, said: string): string {
  if (said === manifestType || said === indexType) return said;
  const { mediaType, manifests, layers } = parseJsonObject(bytes.toString('utf8')) ?? {};
  if ((manifests === undefined) === (layers === undefined)) return said;
  const shape = manifests === undefined ? manifestType : indexType;
  return mediaType === undefined || mediaType === shape ? shape : said;
}

/** Reads a document of this media type. */
export function decodeDocument(bytes: Buffer, mediaType: string): OciDocument {
  const value = parseJson(bytes.toString('utf8'));
  if (mediaType === indexType) {
    const read = index.safeParse(value, { jitless: true });
    return read.success
      ? { kind: 'index', manifests: read.data.manifests }
      : { kind: 'other', found: 'an index that is not as it should be' };
  }
  const read = manifest.safeParse(value, { jitless: true });
  if (!read.success) return { kind: 'other', found: `a document of type ${mediaType.slice(0, 100)}` };
  const { config, layers } = read.data;
  const [archive, ...more] = layers;
  if (config.mediaType === wasmConfigType && archive?.mediaType === wasmType && more.length === 0) {
    return { kind: 'wasm', component: archive };
  }
  if (config.mediaType !== configType) {
    return {
      kind: 'other',
      found: `an artifact of type ${(read.data.artifactType ?? config.mediaType).slice(0, 100)}`,
    };
  }
  if (archive === undefined || archive.mediaType !== archiveType || more.length > 0) {
    return { kind: 'other', found: `an artifact with ${layers.length} layers instead of one archive` };
  }
  return { kind: 'archive', archive };
}

const systems: Readonly<Record<string, string>> = { x86_64: 'amd64', aarch64: 'arm64' };

/** The platform of a variant as OCI has it: of `linux-x86_64`, `linux` and `amd64`. */
export function ociPlatform(platform: string): { readonly os: string; readonly architecture: string } {
  const [os = '', ...rest] = platform.split('-');
  const machine = rest.join('-');
  return { os, architecture: systems[machine] ?? machine };
}

/** Whether a descriptor is of the variant for a platform; of the generic file for null. */
export function isFor({ platform }: Descriptor, wanted: string | null): boolean {
  if (wanted === null || platform === undefined) return wanted === null && platform === undefined;
  const { os, architecture } = ociPlatform(wanted);
  return platform.os === os && platform.architecture === architecture;
}

/** Bytes and what others say of them. */
export interface OciBlob {
  readonly descriptor: Descriptor;
  readonly bytes: Buffer;
}

export interface ArtifactFacts {
  readonly name: string;
  readonly version: string;
  /** `tool`, `driver`, `hook`, `skill` or `capsule`. */
  readonly runtime: string;
  readonly packaging: string;
}

/** No times stand in it: publishing the same archive twice gives the same digest. */
export function encodeConfig({ name, version, runtime, packaging }: ArtifactFacts): OciBlob {
  return blobOf(configType, { name, version, runtime, packaging });
}

/** The manifest of one archive. */
export function encodeManifest(facts: ArtifactFacts, config: Descriptor, archive: Descriptor): OciBlob {
  return blobOf(manifestType, {
    schemaVersion: 2,
    mediaType: manifestType,
    artifactType,
    config,
    // Tools that know nothing of artifacts name the file after it.
    layers: [{ ...archive, annotations: { [titleKey]: `${facts.name}-${facts.version}.zip` } }],
    annotations: annotationsOf(facts.name, facts.version),
  });
}

/** What a component alone consists of, for clients of other projects. */
export interface PlainComponent {
  readonly bytes: Buffer;
  readonly imports: readonly string[];
  readonly exports: readonly string[];
}

interface EncodedComponent {
  readonly manifest: OciBlob;
  /** The config and the component. */
  readonly blobs: readonly OciBlob[];
}

/** The time of its making is that of the entries of an archive: the same component gives the same digest. */
export function encodeComponent(
  { bytes, imports, exports }: PlainComponent,
  { name, version }: Pick<ArtifactFacts, 'name' | 'version'>,
): EncodedComponent {
  const layer = rawBlob(wasmType, bytes);
  const config = blobOf(wasmConfigType, {
    created: '1980-01-01T00:00:00Z',
    architecture: 'wasm',
    os: 'wasip2',
    layerDigests: [layer.descriptor.digest],
    component: { exports, imports, target: null },
  });
  const manifest = blobOf(manifestType, {
    schemaVersion: 2,
    mediaType: manifestType,
    config: config.descriptor,
    // Tools that know nothing of WebAssembly name the file after it.
    layers: [{ ...layer.descriptor, annotations: { [titleKey]: `${name}.wasm` } }],
    annotations: annotationsOf(name, version),
  });
  return { manifest, blobs: [config, layer] };
}

const titleKey = 'org.opencontainers.image.title';

function annotationsOf(name: string, version: string): object {
  return { [titleKey]: name, 'org.opencontainers.image.version': version };
}

/** The generic file, if any, stands first, the variants behind it by platform. */
export function encodeIndex(manifests: readonly Descriptor[]): OciBlob {
  const keyOf = ({ platform }: Descriptor): string =>
    platform === undefined ? '' : `${platform.os}/${platform.architecture}`;
  const sorted = manifests.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return blobOf(indexType, { schemaVersion: 2, mediaType: indexType, manifests: sorted });
}

/** What says that a signature belongs to the manifest of an archive, and the two blobs that it names. */
export function encodeSignature(
  bundle: string,
  { mediaType, digest: of, size }: Descriptor,
): { readonly manifest: OciBlob; readonly blobs: readonly OciBlob[] } {
  const config = blobOf(emptyType, {});
  const layer = rawBlob(bundleType, Buffer.from(bundle));
  const manifest = blobOf(manifestType, {
    schemaVersion: 2,
    mediaType: manifestType,
    artifactType: bundleType,
    config: config.descriptor,
    layers: [layer.descriptor],
    subject: { mediaType, digest: of, size },
  });
  return { manifest, blobs: [config, layer] };
}

/** The bundle that such a document names; null for any other document. */
export function decodeSignature(bytes: Buffer): Descriptor | null {
  const read = manifest.safeParse(parseJson(bytes.toString('utf8')), { jitless: true });
  const [layer, ...more] = read.data?.layers ?? [];
  return layer !== undefined && more.length === 0 && isBundle(layer.mediaType) ? layer : null;
}

/** Whether a document of this kind may be a signature: other versions of the format are read as well. */
export function isBundle(mediaType: string): boolean {
  return /^application\/vnd\.dev\.sigstore\.bundle(?:\.v0\.[123])?\+json/.test(mediaType);
}

function blobOf(mediaType: string, value: object): OciBlob {
  return rawBlob(mediaType, Buffer.from(JSON.stringify(value)));
}

function rawBlob(mediaType: string, bytes: Buffer): OciBlob {
  return { descriptor: { mediaType, digest: digestOf(bytes), size: bytes.length }, bytes };
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${sha256Hex(bytes)}`;
}

export function isDigest(text: string): boolean {
  return digestShape.test(text);
}
