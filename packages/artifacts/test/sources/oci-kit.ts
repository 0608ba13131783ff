import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import { ociAddress, type OciRepositoryName } from '../../src/manifest/oci-reference.ts';
import type { InstallRequest } from '../../src/store/install.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { archiveType, configType } from '../../src/store/sources/oci/archive-manifest.ts';
import { manifestType, type PlainComponent } from '../../src/store/sources/oci/documents.ts';
import type { OciLogin } from '../../src/store/sources/oci/logins.ts';
import { type OciAccess, type OciPublication, OciSource } from '../../src/store/sources/oci/oci-source.ts';
import { echo } from './hostile-kit.ts';
import { digestOf, type MemoryOci } from './memory-oci.ts';

export interface AccessOptions {
  readonly login?: (name: OciRepositoryName) => OciLogin | null;
  readonly timeoutMs?: number;
  readonly mirror?: MemoryOci;
  readonly warnings?: Diagnostic[];
  readonly signal?: AbortSignal;
}

/** What sources need; `mirror` has what `acme/…` of the source has below `copies/…`. */
export function accessWith({
  login = () => null,
  timeoutMs = 30_000,
  mirror,
  warnings = [],
  signal,
}: AccessOptions = {}): OciAccess {
  const failed = new Set<string>();
  return {
    http: new HttpClient({ timeoutMs, ...(signal === undefined ? {} : { signal }) }),
    login: (name) => Promise.resolve(login(name)),
    mirrorOf: ({ repository }) => {
      if (mirror === undefined) return null;
      const at = { host: mirror.host, repository: repository.replace(/^acme/, 'copies') };
      return { at, failed, onWarning: (warning) => void warnings.push(warning) };
    },
  };
}

/** `oci://…/acme` of a registry. */
export function acmeOf(registry: MemoryOci, access: OciAccess = accessWith()): OciSource {
  return new OciSource(ociAddress(`oci://${registry.host}/acme`), access);
}

export interface Published {
  readonly platforms?: readonly string[];
  readonly signatures?: readonly string[];
  readonly component?: PlainComponent;
  readonly vouchFor?: OciPublication['vouchFor'];
  readonly access?: OciAccess;
}

/** Publishes an archive as echo@1.0.0. */
export async function publishTo(
  registry: MemoryOci,
  archive: Buffer,
  { platforms = [], signatures = [], access = accessWith(), ...more }: Published = {},
): Promise<void> {
  const body = { bytes: archive.length, chunks: () => [archive] };
  const sha256 = digestOf(archive).slice('sha256:'.length);
  const facts = { ...echo, runtime: 'tool', packaging: 'wasm' };
  await acmeOf(registry, access).publish({ ...facts, platforms, signatures, sha256, body, ...more });
}

/** Puts an archive under the tag of echo@1.0.0, as other tools could: `note` makes it another document. The digest of that. */
export function putMarked(registry: MemoryOci, archive: Buffer, note: string): string {
  const config = Buffer.from('{}');
  registry.blobs.set(digestOf(archive), archive);
  const document = {
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: configType, digest: digestOf(config), size: config.length },
    layers: [{ mediaType: archiveType, digest: digestOf(archive), size: archive.length }],
    annotations: { note },
  };
  return registry.put('acme/echo', manifestType, document, '1.0.0');
}

/** An install of echo@1.0.0 for a project. */
export function installOfEcho(
  places: StorePlaces,
  sources: StorePlaces['sources'],
  { isFrozen = false, from }: { readonly isFrozen?: boolean; readonly from?: string } = {},
): InstallRequest {
  const entry = { ...echo, runtime: 'tool', config: {}, ...(from === undefined ? {} : { from }) };
  return {
    ...places,
    sources,
    entries: [entry] as unknown as InstallRequest['entries'],
    fetching: { isFrozen },
    prepare: () => Promise.resolve(),
    onSkills: () => Promise.resolve(),
    onStored: () => {},
    onWarning: () => {},
  };
}
