/** Fetches artifacts from a registry, publishes them to it, and reads what it refuses. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { HttpAnswer, HttpClient } from '@svc/kit/net/http-client.ts';
import { bodyOf, type OutgoingBody } from '@svc/kit/net/request-run.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import {
  artifactsPath,
  decodeIndex,
  decodeReceipt,
  decodeSha256,
  encodeArchiveTarget,
  encodePublishQuery,
  encodeSignaturesTarget,
  type IndexObject,
  maxIndexBytes,
  type Packaging,
  sha256Header,
  signatureLimits,
  type VersionState,
  versionStates,
} from '@svc/protocol/registry-messages.ts';
import {
  decodeStateReceipt,
  decodeVersions,
  encodeStateChange,
  encodeStateTarget,
  encodeVersionsTarget,
  type PublishedVersion,
  stateHeader,
  type StateOfVersion,
} from '@svc/protocol/version-states.ts';
import { decodeRefusal } from '@svc/protocol/refusal.ts';
import { archiveLimits } from '../archive-entry.ts';
import { type ArtifactRef, spell } from '../artifact-ref.ts';
import type { ArtifactSource, FetchedArchive } from '../installed-artifact.ts';
import type { LockedArtifact } from '../lockfile.ts';
import { decodeSignatures } from '../trust/signature-bundle.ts';
import { isExactVersion } from '../../manifest/names.ts';
import { blockedFault } from '../version-state-rules.ts';
import { refusedElsewhere } from './refused-elsewhere.ts';

interface RegistryAddress {
  /** Without `/v1` and without a slash at its end. */
  readonly url: string;
  readonly key: Secret | null;
  /** Where the operator set the key, for the advice when it is refused: `REGISTRY_API_KEY`. */
  readonly keyName: string;
}

export interface Publication extends ArtifactRef {
  readonly packaging: Packaging;
  /** Empty for the generic file. */
  readonly platforms: readonly string[];
  readonly sha256: string;
  readonly body: OutgoingBody;
}

const maxVersionsBytes = 16 * 1024 * 1024;
const maxReceiptBytes = 64 * 1024;
const maxSignaturesBytes = signatureLimits.maxBundles * (signatureLimits.maxBundleBytes + 1);
/** The client knows a reserved version by this text alone (D3 "Registry" publish, `422`). */
const reservedText = /reserved artifact version\b.*\bnot allowed/i;

/**
 * A registry as a source of artifacts, with D3's mapping of its answers to codes. The published client holds an archive whole; this one hands
 * its bytes on as they come, distinguishes a variant from the generic file, and uses the proxy of the operator.
 */
export class RegistrySource implements ArtifactSource {
  readonly name: string;
  readonly #address: RegistryAddress;
  readonly #http: HttpClient;

  constructor(address: RegistryAddress, http: HttpClient) {
    this.name = address.url;
    this.#address = address;
    this.#http = http;
  }

  /** D3 "Registry" download: null for `404`, `E-REG-002` without a hash, `E-ART-003` when the announced size is too large. */
  async fetch(ref: ArtifactRef, platform: string): Promise<FetchedArchive | null> {
    const answer = await this.#get(encodeArchiveTarget(ref.name, ref.version, platform));
    try {
      if (answer.status === 404) {
        answer.discard();
        return null;
      }
      const state = this.#announcedState(answer, ref);
      if (answer.status === 410 || state === 'blocked') throw await this.#blocked(answer, ref);
      if (answer.status !== 200) throw await this.#refusal(answer, `does not give ${spell(ref)}`);
      const sha256 = this.#announcedHash(answer, ref);
      if ((answer.size ?? 0) > archiveLimits.maxArchiveBytes) {
        throw new Diagnostic('E-ART-003', `${spell(ref)} from ${this.#label} is larger than 512 MiB`);
      }
      const isVariant = await this.#isVariant(ref, { sha256, etag: answer.headers.etag });
      const discard = (): void => answer.discard();
      const told = state === 'active' ? {} : { state };
      return {
        platform: isVariant ? platform : null,
        sha256,
        size: answer.size,
        bytes: answer.body(),
        ...told,
        discard,
      };
    } catch (error) {
      answer.discard();
      throw error;
    }
  }

  /** docs/registry.md "Requests"; null for `404`, which is also the answer of a registry without such lists. `E-IO-003` for an invalid list. */
  async versions(name: string): Promise<readonly PublishedVersion[] | null> {
    const answer = await this.#get(encodeVersionsTarget(name));
    if (answer.status === 404) {
      answer.discard();
      return null;
    }
    if (answer.status !== 200) throw await this.#refusal(answer, `does not list the versions of ${name}`);
    const text = await answer.text(maxVersionsBytes);
    const tooLarge = { kind: 'unparsable', reason: 'it is too large' } as const;
    const reading = text === null ? tooLarge : decodeVersions(text, name);
    // It skips versions that no artifact can have, because nobody could ask for them.
    if (reading.kind === 'versions') return reading.versions.filter(({ version }) => isExactVersion(version));
    const message = `the list of versions of ${name} from ${this.#label} cannot be understood: ${reading.reason}`;
    throw new Diagnostic('E-IO-003', message);
  }

  /**
   * Deprecates, yanks, blocks or restores a version. `E-REG-001` when the registry has none, or knows no states; `E-IO-003` for an answer that does not say
   * that the version is in that state now: a portal between here and the registry answers anything with a page.
   */
  async changeState(ref: ArtifactRef, change: StateOfVersion): Promise<void> {
    const answer = await this.#http.send({
      label: this.#label,
      url: new URL(`${this.#address.url}${encodeStateTarget(ref.name, ref.version)}`),
      headers: { 'content-type': 'application/json' },
      key: this.#address.key,
      method: 'PUT',
      body: bodyOf(Buffer.from(encodeStateChange(change))),
    });
    if (answer.status === 200) {
      const now = decodeStateReceipt((await answer.text(maxReceiptBytes)) ?? '', ref.name, ref.version);
      if (now === change.state) return;
      const said = now === null ? 'does not say in which state it is now' : `says that it is ${now}`;
      const message = `${this.#label} does not confirm that ${spell(ref)} is ${change.state}: its answer ${said}`;
      throw new Diagnostic('E-IO-003', message, {
        hint: `make sure that a registry answers at this address, not a portal or a proxy on the way; svc info ${ref.name} shows the state of each version`,
      });
    }
    const refusal = await this.#refusal(answer, `does not change the state of ${spell(ref)}`);
    if (answer.status !== 404) throw refusal;
    throw new Diagnostic('E-REG-001', refusal.message, { hint: `svc info ${ref.name} lists the versions that it has` });
  }

  /** D3 "Registry" index; `E-IO-003` when any object of it is invalid. */
  async index(): Promise<readonly IndexObject[]> {
    const answer = await this.#get(artifactsPath);
    if (answer.status !== 200) throw await this.#refusal(answer, 'does not give its index');
    const text = await answer.text(maxIndexBytes);
    const reading = text === null ? ({ kind: 'unparsable', reason: 'it is too large' } as const) : decodeIndex(text);
    if (reading.kind === 'index') return reading.objects;
    throw new Diagnostic('E-IO-003', `the index of ${this.#label} cannot be understood: ${reading.reason}`);
  }

  /** `E-REG-003` where the version exists for one of these platforms: the registry would refuse it, so nothing needs a signature. */
  async refusePublished(publication: Pick<Publication, 'name' | 'version' | 'platforms'>): Promise<void> {
    const { name, version, platforms } = publication;
    const listed = (await this.versions(name))?.find((each) => each.version === version)?.archives ?? [];
    const there = new Set(listed.flatMap((archive) => variantsOf(archive.platforms.map(spellPair))));
    if (variantsOf(platforms).some((platform) => there.has(platform))) throw this.#published(publication);
  }

  /** D3 "Registry" publish. It does not retry: nobody would know what the first try did. */
  async publish(publication: Publication): Promise<void> {
    const { name, version, packaging, platforms, body, sha256 } = publication;
    const query = encodePublishQuery({ name, version, runtime: packaging, platforms });
    const answer = await this.#http.send({
      label: `publishing ${spell(publication)} to ${this.#label}`,
      url: new URL(`${this.#address.url}${artifactsPath}?${query}`),
      headers: { 'content-type': 'application/octet-stream' },
      key: this.#address.key,
      body,
    });
    if (answer.status !== 201) throw await this.#publishRefusal(answer, publication);
    const stored = decodeReceipt(parseJson((await answer.text(maxReceiptBytes)) ?? ''));
    if (stored === sha256) return;
    const said = stored !== null ? `sha256 ${printable(stored.slice(0, 64))}` : 'no sha256';
    throw new Diagnostic('E-REG-002', `${this.#label} confirms ${spell(publication)} with ${said}, not ${sha256}`);
  }

  /** The bundles that the registry keeps for an archive; empty where it keeps none, or does not support signatures. */
  async signatures({ sha256 }: Pick<LockedArtifact, 'sha256'>): Promise<readonly string[]> {
    const answer = await this.#get(encodeSignaturesTarget(sha256));
    if (answer.status === 404 || answer.status === 405) {
      answer.discard();
      return [];
    }
    if (answer.status !== 200) throw await this.#refusal(answer, 'does not give signatures');
    const text = await answer.text(maxSignaturesBytes);
    if (text === null) throw new Diagnostic('E-IO-003', `${this.#label} sends too many signatures`);
    return decodeSignatures(text);
  }

  /**
   * Uploads a bundle for an archive, which need not exist there yet. Harmless when the bundle is there already. `E-IO-003` for an answer that does not say that it is kept
   * for this archive; its hint says what has `happened` so far.
   */
  async sign(sha256: string, bundle: string, happened: string): Promise<void> {
    const answer = await this.#http.send({
      label: `sending a signature to ${this.#label}`,
      url: new URL(`${this.#address.url}${encodeSignaturesTarget(sha256)}`),
      headers: { 'content-type': 'application/json' },
      key: this.#address.key,
      body: bodyOf(Buffer.from(bundle)),
    });
    if (answer.status === 200 || answer.status === 201) {
      const kept = decodeReceipt(parseJson((await answer.text(maxReceiptBytes)) ?? ''));
      if (kept === sha256) return;
      const said = kept === null ? 'does not say for which archive' : `says ${printable(kept.slice(0, 64))}`;
      const message = `${this.#label} does not confirm that it keeps the signature of ${sha256}: its answer ${said}`;
      throw new Diagnostic('E-IO-003', message, {
        hint: `make sure that a registry answers at this address, not a portal or a proxy on the way; ${happened}`,
      });
    }
    if (answer.status === 404) {
      answer.discard();
      throw new Diagnostic('E-IO-003', `${this.#label} keeps no signatures`, {
        hint: 'publish without --sign, and give the file of signatures to those who need it; or ask who runs the registry to update it',
      });
    }
    throw await this.#refusal(answer, 'does not take the signature');
  }

  get #label(): string {
    return `the registry ${this.#address.url}`;
  }

  async #get(target: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    const url = new URL(`${this.#address.url}${target}`);
    return await this.#http.send({ label: this.#label, url, headers, key: this.#address.key });
  }

  /** `E-IO-003` for an unknown state. */
  #announcedState(answer: HttpAnswer, ref: ArtifactRef): VersionState {
    const { [stateHeader]: announced = 'active' } = answer.headers;
    const state = versionStates.find((known) => known === announced);
    if (state !== undefined) return state;
    const message = `${this.#label} gives ${spell(ref)} in a state that cannot be understood (header ${stateHeader})`;
    throw new Diagnostic('E-IO-003', message);
  }

  async #blocked(answer: HttpAnswer, ref: ArtifactRef): Promise<Diagnostic> {
    const { message: reason } = await readErrorText(answer, this.#address.key);
    return blockedFault(ref, { by: this.#label, reason: reason === '' ? null : reason });
  }

  #announcedHash(answer: HttpAnswer, ref: ArtifactRef): string {
    const announced = answer.headers[sha256Header];
    const sha256 = decodeSha256(typeof announced === 'string' ? announced : undefined);
    if (sha256 !== null) return sha256;
    const what = announced === undefined ? 'names no hash' : 'names something that is not a hash';
    throw new Diagnostic('E-REG-002', `${this.#label} ${what} for ${spell(ref)} (header x-svc-sha256)`, {
      hint: 'without it svc cannot check that the archive is whole: ask the operator of the registry',
    });
  }

  /**
   * Whether these bytes are the variant of the platform or the generic file. D3's answer does not say, and the lock file and the stores keep
   * the two apart. It requests the generic file, and does not read the body.
   */
  async #isVariant(
    ref: ArtifactRef,
    got: { readonly sha256: string; readonly etag: string | undefined },
  ): Promise<boolean> {
    const condition = got.etag === undefined ? {} : { 'if-none-match': got.etag };
    const generic = await this.#get(encodeArchiveTarget(ref.name, ref.version, null), condition);
    if (![200, 304, 404].includes(generic.status)) throw await this.#refusal(generic, `does not give ${spell(ref)}`);
    generic.discard();
    if (generic.status === 304) return false;
    return generic.status === 404 || generic.headers[sha256Header] !== got.sha256;
  }

  async #publishRefusal(answer: HttpAnswer, publication: Publication): Promise<Diagnostic> {
    if (answer.status !== 409) return await this.#refusal(answer, `does not take ${spell(publication)}`);
    answer.discard();
    return this.#published(publication);
  }

  #published(publication: Pick<Publication, 'name' | 'version' | 'platforms'>): Diagnostic {
    const { platforms } = publication;
    const variants = platforms.length === 0 ? '' : ` for ${platforms.join(', ')}`;
    return new Diagnostic('E-REG-003', `${spell(publication)}${variants} is published already at ${this.#label}`, {
      hint: 'what is published never changes: publish a new version',
    });
  }

  /** D3 "Registry client mapping". Any other answer is `E-IO-003` with the words of the registry. */
  async #refusal(answer: HttpAnswer, what: string): Promise<Diagnostic> {
    const { url, key, keyName } = this.#address;
    const { error, shown } = await readErrorText(answer, key);
    const elsewhere = refusedElsewhere(answer, new URL(url));
    const message = `${this.#label} ${what} (${answer.status}${elsewhere?.by ?? ''})${shown}`;
    if (elsewhere !== null) return new Diagnostic('E-IO-003', message, { hint: elsewhere.hint });
    switch (answer.status) {
      case 401:
      case 403: {
        const advice = key === null ? `set ${keyName} to the key` : `check that ${keyName} is the key`;
        return new Diagnostic('E-IO-003', message, { hint: `${advice} for ${url}` });
      }
      case 422:
        return new Diagnostic(reservedText.test(error) ? 'E-REG-004' : 'E-IO-003', message);
      case 404:
        return new Diagnostic('E-IO-003', message, { hint: 'check the address: it is written without /v1' });
      default:
        return new Diagnostic('E-IO-003', message);
    }
  }
}

/** The generic file has no platform. */
function variantsOf(platforms: readonly string[]): readonly string[] {
  return platforms.length === 0 ? [''] : platforms;
}

function spellPair([system, architecture]: readonly [string, string]): string {
  return `${system}-${architecture}`;
}

const maxErrorBytes = 64 * 1024;
const maxShown = 300;

/** The reason in a refusal. */
interface ErrorText {
  /** `error` of its JSON body as the registry wrote it; empty when the body has no such text. */
  readonly error: string;
  /** `message` as a person is shown it; empty when the body has none. */
  readonly message: string;
  /** `error` and `message` as a person is shown them, behind a colon; empty when it says nothing. */
  readonly shown: string;
}

/** Reads the body of a refusal. Never fails: the status counts, whatever comes after it. The key is not shown, should it be echoed. */
export async function readErrorText(answer: HttpAnswer, key: Secret | null): Promise<ErrorText> {
  const { error, message } = decodeRefusal(parseJson((await textOf(answer)) ?? '')) ?? { error: null, message: null };
  const both = [error ?? '', message ?? ''].filter((text) => text !== '').join('. ');
  const shown = (text: string): string => {
    const safe = key === null ? text : text.replaceAll(key.reveal(), '[secret]');
    return printable(safe.slice(0, maxShown));
  };
  return { error: error ?? '', message: shown(message ?? ''), shown: both === '' ? '' : `: ${shown(both)}` };
}

async function textOf(answer: HttpAnswer): Promise<string | null> {
  try {
    return await answer.text(maxErrorBytes);
  } catch (error) {
    if (error instanceof Diagnostic) return null;
    throw error;
  }
}
