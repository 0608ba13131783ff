/** Fetches artifacts from OCI registries and publishes them there (docs/installing.md "OCI registries"). */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HttpClient } from '@svc/kit/net/http-client.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { bodyOf, type OutgoingBody } from '@svc/kit/net/request-run.ts';
import { signatureLimits } from '@svc/protocol/registry-messages.ts';
import { archiveLimits } from '../../archive-entry.ts';
import { type ArtifactRef, spell } from '../../artifact-ref.ts';
import type { ArtifactSource, FetchedArchive } from '../../installed-artifact.ts';
import type { LockedArtifact } from '../../lockfile.ts';
import { archiveType } from './archive-manifest.ts';
import {
  artifactType,
  type ArtifactFacts,
  decodeDocument,
  decodeSignature,
  type Descriptor,
  emptyType,
  encodeConfig,
  encodeIndex,
  encodeManifest,
  encodeSignature,
  isBundle,
  isFor,
  ociPlatform,
  type OciBlob,
  type PlainComponent,
  type PulledDocument,
} from './documents.ts';
import type { OciLogin } from './logins.ts';
import { ociPrefix, type OciReference, type OciRepositoryName, tagOfVersion } from '../../../manifest/oci-reference.ts';
import { Mirror, type OciMirror } from './mirror.ts';
import { foreignComponent, pushComponent, wasmTagOf } from './plain-wasm.ts';
import { nothingAt, placeIn } from './reference-place.ts';
import { OciRepository } from './repository.ts';
import { bareBundle, withManifest } from '../../trust/signature-bundle.ts';

export interface OciAccess {
  readonly http: HttpClient;
  readonly login: (name: OciRepositoryName) => Promise<OciLogin | null>;
  /** The mirror of a repository, and the listener for a mirror that fails; null for one without a mirror. Absent without mirrors. */
  readonly mirrorOf?: (name: OciRepositoryName) => OciMirror | null;
}

/** An archive on its way to a registry. */
export interface OciPublication extends ArtifactFacts {
  /** Empty for the generic file. */
  readonly platforms: readonly string[];
  readonly sha256: string;
  readonly body: OutgoingBody;
  /** Bundles of signatures. They are uploaded before the version gets its tag. */
  readonly signatures: readonly string[];
  /** Makes a bundle for the manifest, for which tools for such registries look; absent where nothing is signed now. */
  readonly vouchFor?: ((subject: SignedSubject) => Promise<string>) | undefined;
  /** The bare component to publish beside it for clients of other projects, if wanted. */
  readonly component?: PlainComponent;
}

/** What a statement is of. */
export interface SignedSubject {
  /** For people. */
  readonly name: string;
  readonly sha256: string;
}

/** Limit for one version. */
const maxVariants = 32;

/** A path of a registry: `echo@1.0.0` is the repository `<path>/echo`, tag `1.0.0`. */
export class OciSource implements ArtifactSource {
  readonly name: string;
  readonly #at: OciRepositoryName;
  readonly #access: OciAccess;

  constructor(at: OciRepositoryName, access: OciAccess, name = `oci://${at.host}/${at.repository}`) {
    this.name = name;
    this.#at = at;
    this.#access = access;
  }

  async fetch({ name, version }: ArtifactRef, platform: string, held?: LockedArtifact): Promise<FetchedArchive | null> {
    return await fetchVersion(this.#repository(name), { version, platform, held });
  }

  /**
   * A published version never changes: `E-REG-003` where the tag has this variant. A registry does not promise that, so svc reads the tag
   * again afterwards, and the same code reports another publisher that was there at the same time.
   */
  async publish(publication: OciPublication): Promise<void> {
    const { name, version, platforms, sha256, body } = publication;
    const repository = this.#repository(name);
    const tag = tagOfVersion(version);
    const before = await repository.document(tag, 'pull,push');
    const others = before === null ? [] : besides(before, publication, repository.label);
    const config = encodeConfig(publication);
    const archive = { mediaType: archiveType, digest: `sha256:${sha256}`, size: body.bytes };
    await repository.pushBlob(config.descriptor, bodyOf(config.bytes));
    await repository.pushBlob(archive, body);
    const manifest = encodeManifest(publication, config.descriptor, archive);
    const bundles = await this.#bundlesFor(publication, manifest, repository.label);
    if (bundles.length > 0) await repository.pushDocument(manifest, null);
    for (const bundle of bundles)
      await repository.pushReferrer(manifest.descriptor.digest, encodeSignature(bundle, manifest.descriptor));
    // It comes before the tag of the version: after an interruption in between, publishing again works.
    if (publication.component !== undefined) {
      await pushComponent(repository, { tag: wasmTagOf(tag), ref: publication, component: publication.component });
    }
    const tagged = await this.#pushVariants(repository, { tag, manifest, platforms, others });
    const after = await repository.document(tag, 'pull,push');
    if (after?.digest !== tagged) throw taken(publication, repository.label, ' by somebody else at the same time');
  }

  /** The bundles that refer to the manifest of an archive; empty where its tag leads to no such archive. */
  async signatures({ name, version, sha256, from }: SignedArchive): Promise<readonly string[]> {
    const repository = this.#repository(name);
    return await signaturesIn(repository, digestIn(repository, from) ?? tagOfVersion(version), sha256);
  }

  /** Returns the bundles of the archive, and of this manifest. A bundle of another manifest would say nothing here. */
  async #bundlesFor(
    { signatures, vouchFor }: OciPublication,
    { descriptor, bytes }: OciBlob,
    name: string,
  ): Promise<readonly string[]> {
    const brought = signatures.flatMap((bundle) => {
      const bare = bareBundle(bundle);
      return bare === bundle || withManifest(bare, bytes) !== null ? [bare] : [];
    });
    const made = await vouchFor?.({ name: name.slice(ociPrefix.length), sha256: hexOf(descriptor) });
    return made === undefined ? brought : [made, ...brought];
  }

  /** Returns the new digest of the tag. */
  async #pushVariants(
    repository: OciRepository,
    {
      tag,
      manifest,
      platforms,
      others,
    }: {
      readonly tag: string;
      readonly manifest: OciBlob;
      readonly platforms: readonly string[];
      readonly others: readonly Descriptor[];
    },
  ): Promise<string> {
    if (platforms.length === 0 && others.length === 0) {
      await repository.pushDocument(manifest, tag);
      return manifest.descriptor.digest;
    }
    await repository.pushDocument(manifest, null);
    const own = { ...manifest.descriptor, artifactType };
    const variants =
      platforms.length === 0 ? [own] : platforms.map((each) => ({ ...own, platform: ociPlatform(each) }));
    const index = encodeIndex([...others, ...variants]);
    await repository.pushDocument(index, tag);
    return index.descriptor.digest;
  }

  #repository(name: string): OciRepository {
    const at = { host: this.#at.host, repository: `${this.#at.repository}/${name}` };
    return openRepository(at, this.#access);
  }
}

/** One repository, whatever it is called: its tags are the versions of the one artifact in it. */
export class OciPlaceSource implements ArtifactSource {
  readonly name: string;
  readonly #repository: OciRepository;

  constructor(at: OciRepositoryName, access: OciAccess) {
    this.name = `oci://${at.host}/${at.repository}`;
    this.#repository = openRepository(at, access);
  }

  async fetch({ version }: ArtifactRef, platform: string, held?: LockedArtifact): Promise<FetchedArchive | null> {
    return await fetchVersion(this.#repository, { version, platform, held });
  }

  async signatures({ version, sha256, from }: SignedArchive): Promise<readonly string[]> {
    const at = digestIn(this.#repository, from) ?? tagOfVersion(version);
    return await signaturesIn(this.#repository, at, sha256);
  }
}

/** Sends no request yet. */
export function openRepository(at: OciRepositoryName, { http, login, mirrorOf }: OciAccess): OciRepository {
  const opened = (name: OciRepositoryName): ConstructorParameters<typeof OciRepository>[0] => {
    return { ...name, http, login: async () => await login(name) };
  };
  const found = mirrorOf?.(at) ?? null;
  if (found === null) return new OciRepository(opened(at));
  // Each gets the login for its own host alone.
  const mirror = new Mirror(new OciRepository(opened(found.at)), `oci://${at.host}/${at.repository}`, found);
  return new OciRepository({ ...opened(at), mirror });
}

/** Fetches what one reference names; `E-REG-001` when there is nothing for the platform, `E-REG-002` when tag and digest do not belong together. */
export async function fetchReference(
  reference: OciReference,
  platform: string,
  access: OciAccess,
): Promise<FetchedArchive> {
  const repository = openRepository(reference, access);
  const fetched = await fetchFrom(repository, await placeIn(repository, reference), platform);
  if (fetched !== null) return fetched;
  throw nothingAt(reference, ` for ${platform}`);
}

/** The bundles that refer to the archive of this hash, which the reference led to. */
export async function referenceSignatures(
  reference: OciReference,
  sha256: string,
  access: OciAccess,
): Promise<readonly string[]> {
  const { digest, tag } = reference;
  return await signaturesIn(openRepository(reference, access), digest ?? tag ?? '', sha256);
}

type SignedArchive = Pick<LockedArtifact, 'name' | 'version' | 'sha256' | 'from'>;

/** The digest in the place of an artifact, if it is in this repository. */
function digestIn({ label }: OciRepository, from: string | undefined): string | null {
  return from !== undefined && from.startsWith(`${label}@`) ? from.slice(label.length + 1) : null;
}

/** Fetches what the tag of a version leads to, or the document that `held` names, whatever the tag leads to now. */
async function fetchVersion(
  repository: OciRepository,
  { version, platform, held }: { version: string; platform: string; held: LockedArtifact | undefined },
): Promise<FetchedArchive | null> {
  const digest = digestIn(repository, held?.from);
  if (held === undefined || digest === null) return await fetchFrom(repository, tagOfVersion(version), platform);
  const fetched = await fetchFrom(repository, digest, platform);
  // The document of a variant does not say that it is one.
  return fetched === null ? null : { ...fetched, platform: held.platform };
}

async function fetchFrom(repository: OciRepository, at: string, platform: string): Promise<FetchedArchive | null> {
  const found = await repository.document(at);
  if (found === null) return null;
  const document = decodeDocument(found.bytes, found.mediaType);
  if (document.kind === 'archive')
    return openArchive(repository, { ...document, digest: found.digest, platform: null });
  if (document.kind === 'wasm') throw foreignComponent(`${repository.label}, ${at}`);
  if (document.kind === 'other') throw foreign(`${repository.label}, ${at}`, document.found);
  for (const wanted of [platform, null]) {
    const chosen = document.manifests.find((each) => isFor(each, wanted));
    if (chosen === undefined) continue;
    const variant = await repository.document(chosen.digest);
    if (variant === null)
      throw new Diagnostic('E-REG-002', `${repository.label} lacks ${chosen.digest}, which it names`);
    const inner = decodeDocument(variant.bytes, variant.mediaType);
    if (inner.kind === 'archive') return openArchive(repository, { ...inner, digest: chosen.digest, platform: wanted });
    throw foreign(
      `${repository.label}, ${at}`,
      inner.kind === 'other' ? inner.found : `an index of another ${inner.kind}`,
    );
  }
  return null;
}

/** The bundles for the archive of a hash under a tag or a digest. It asks no mirror: only the source knows all of them. */
async function signaturesIn(
  { direct: repository }: OciRepository,
  at: string,
  sha256: string,
): Promise<readonly string[]> {
  const manifest = await manifestOf(repository, at, `sha256:${sha256}`);
  if (manifest === null) return [];
  const referrers = await repository.referrers(manifest.digest);
  const bundles: string[] = [];
  for (const { digest } of perhapsSignatures(referrers).slice(0, signatureLimits.maxBundles)) {
    const document = await repository.document(digest);
    const bundle = document === null ? null : decodeSignature(document.bytes);
    if (bundle === null || bundle.size > signatureLimits.maxBundleBytes) continue;
    const bytes = await readUpTo(repository.openBlob(bundle).bytes, signatureLimits.maxBundleBytes);
    if (bytes === undefined) continue;
    const text = bytes.toString('utf8');
    bundles.push(withManifest(text, manifest.bytes) ?? text);
  }
  return bundles;
}

/** Returns the documents that are listed as signatures, then those whose kind a registry does not say: it may know only their config. */
function perhapsSignatures(listed: readonly Descriptor[]): readonly Descriptor[] {
  const unsaid = listed.filter(({ artifactType: type }) => type === undefined || type === emptyType);
  return [...listed.filter(({ artifactType: type = '' }) => isBundle(type)), ...unsaid];
}

/** The manifest under `at` whose layer has this digest. */
async function manifestOf(repository: OciRepository, at: string, archive: string): Promise<PulledDocument | null> {
  const found = await repository.document(at);
  if (found === null) return null;
  const document = decodeDocument(found.bytes, found.mediaType);
  if (document.kind === 'archive') return document.archive.digest === archive ? found : null;
  if (document.kind !== 'index') return null;
  for (const { digest } of document.manifests.slice(0, maxVariants)) {
    const variant = await repository.document(digest);
    const inner = variant === null ? null : decodeDocument(variant.bytes, variant.mediaType);
    if (inner?.kind === 'archive' && inner.archive.digest === archive) return variant;
  }
  return null;
}

interface FoundDocument {
  readonly archive: Descriptor;
  /** The digest of the manifest that has the archive. */
  readonly digest: string;
  readonly platform: string | null;
}

function openArchive(repository: OciRepository, found: FoundDocument): FetchedArchive {
  const { archive, digest, platform } = found;
  if (archive.size > archiveLimits.maxArchiveBytes)
    throw new Diagnostic('E-ART-003', `an archive of ${repository.label} is larger than 512 MiB`);
  const { bytes, discard, mayMend } = repository.openBlob(archive);
  return {
    platform,
    sha256: hexOf(archive),
    size: archive.size,
    bytes,
    from: `${repository.label}@${digest}`,
    discard,
    instead: (fault) => (mayMend(fault) ? openArchive(repository.direct, found) : null),
  };
}

function hexOf({ digest }: Descriptor): string {
  return digest.slice('sha256:'.length);
}

function foreign(where: string, found: string): Diagnostic {
  return new Diagnostic('E-ART-005', `${where} is no artifact of svc, but ${found}`, {
    hint: 'svc publish --registry oci://… makes such artifacts',
  });
}

/** The variants under the tag that stay; `E-REG-003` where one of them is being published now. */
function besides(before: PulledDocument, publication: OciPublication, label: string): readonly Descriptor[] {
  const document = decodeDocument(before.bytes, before.mediaType);
  if (document.kind === 'other') throw taken(publication, label, `, as ${document.found}`);
  if (document.kind === 'wasm') throw taken(publication, label, ', as a component alone');
  const { digest, mediaType, bytes } = before;
  const present =
    document.kind === 'index' ? document.manifests : [{ digest, mediaType, size: bytes.length, artifactType }];
  const wanted = publication.platforms.length === 0 ? [null] : publication.platforms;
  if (present.some((each) => wanted.some((platform) => isFor(each, platform)))) throw taken(publication, label, '');
  return present;
}

function taken(publication: OciPublication, label: string, how: string): Diagnostic {
  const { platforms } = publication;
  const variants = platforms.length === 0 ? '' : ` for ${platforms.join(', ')}`;
  return new Diagnostic('E-REG-003', `${spell(publication)}${variants} is published already at ${label}${how}`, {
    hint: 'what is published never changes: publish a new version',
  });
}
