import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { archiveLimits } from '../archive-limits.ts';
import { type ArtifactRef, spell } from '../artifact-ref.ts';
import type { ArtifactSource, FetchedArchive } from '../artifact-source.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';
import { parseJson, readErrorText } from './answer-text.ts';
import type { HttpAnswer, HttpClient } from '@svc/kit/net/http-client.ts';
import type { OutgoingBody } from '@svc/kit/net/http-exchange.ts';
import { listOf } from '@svc/kit/bounded-lists.ts';

export interface RegistryAddress {
  /** Without `/v1` and without a slash at its end. */
  readonly url: string;
  readonly key: Secret | null;
  /** Where the operator set the key, for the advice when it is refused: `REGISTRY_API_KEY`. */
  readonly keyName: string;
}

export interface Publication extends ArtifactRef {
  readonly packaging: Packaging;
  /** None for the generic file. */
  readonly platforms: readonly string[];
  readonly sha256: string;
  readonly body: OutgoingBody;
}

const maxIndexBytes = 64 * 1024 * 1024;
const maxReceiptBytes = 64 * 1024;
/** The client knows a reserved version by this text alone (D3 "Registry" publish, `422`). */
const reservedText = /reserved artifact version\b.*\bnot allowed/i;

/** A client of D3's registry, with D3's mapping of its answers to codes. */
export class RegistryClient implements ArtifactSource {
  readonly name: string;
  readonly #address: RegistryAddress;
  readonly #http: HttpClient;

  constructor(address: RegistryAddress, http: HttpClient) {
    this.name = address.url;
    this.#address = address;
    this.#http = http;
  }

  /** D3 "Registry" download: null for `404`, `E-REG-002` without a hash, `E-ART-003` for what is announced too large. */
  async fetch(ref: ArtifactRef, platform: string): Promise<FetchedArchive | null> {
    const answer = await this.#get(artifactPath(ref, platform));
    try {
      if (answer.status === 404) {
        answer.discard();
        return null;
      }
      if (answer.status !== 200) throw await this.#refusal(answer, `does not give ${spell(ref)}`);
      const sha256 = this.#announcedHash(answer, ref);
      if ((answer.size ?? 0) > archiveLimits.maxArchiveBytes) {
        throw new Diagnostic('E-ART-003', `${spell(ref)} from ${this.#label} is larger than 512 MiB`);
      }
      const isVariant = await this.#isVariant(ref, { sha256, etag: answer.headers.etag });
      const discard = (): void => answer.discard();
      return { platform: isVariant ? platform : null, sha256, size: answer.size, bytes: answer.body(), discard };
    } catch (error) {
      answer.discard();
      throw error;
    }
  }

  /** D3 "Registry" index; `E-IO-003` when any object of it is not as it should be. */
  async index(): Promise<readonly IndexObject[]> {
    const answer = await this.#get('');
    if (answer.status !== 200) throw await this.#refusal(answer, 'does not give its index');
    const text = await answer.text(maxIndexBytes);
    const reading = text === null ? ({ kind: 'unparsable', reason: 'it is too large' } as const) : parseIndex(text);
    if (reading.kind === 'index') return reading.objects;
    throw new Diagnostic('E-IO-003', `the index of ${this.#label} cannot be understood: ${reading.reason}`);
  }

  /** D3 "Registry" publish. Not tried again when it fails: nobody would know what became of the first try. */
  async publish(publication: Publication): Promise<void> {
    const { name, version, packaging, platforms, body, sha256 } = publication;
    const query = new URLSearchParams({ name, version, runtime: packaging });
    for (const platform of platforms) query.append('platform', platform);
    const answer = await this.#http.send({
      label: `publishing ${spell(publication)} to ${this.#label}`,
      // What a form would write for a space is nothing that a name or a version has; a plus sign stays escaped.
      url: new URL(`${this.#address.url}/v1/artifacts?${query.toString()}`),
      headers: { 'content-type': 'application/octet-stream' },
      key: this.#address.key,
      body,
    });
    if (answer.status !== 201) throw await this.#publishRefusal(answer, publication);
    const receipt = parseJson((await answer.text(maxReceiptBytes)) ?? '');
    const stored = (receipt as { readonly sha256?: unknown } | null | undefined)?.sha256;
    if (stored === sha256) return;
    const said = typeof stored === 'string' ? `sha256 ${printable(stored.slice(0, 64))}` : 'no sha256';
    throw new Diagnostic('E-REG-002', `${this.#label} confirms ${spell(publication)} with ${said}, not ${sha256}`);
  }

  get #label(): string {
    return `the registry ${this.#address.url}`;
  }

  async #get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    const url = new URL(`${this.#address.url}/v1/artifacts${path}`);
    return await this.#http.send({ label: this.#label, url, headers, key: this.#address.key });
  }

  #announcedHash(answer: HttpAnswer, ref: ArtifactRef): string {
    const announced = answer.headers['x-svc-sha256'];
    if (typeof announced === 'string' && sha256Shape.test(announced)) return announced;
    const what = announced === undefined ? 'names no hash' : 'names something that is no hash';
    throw new Diagnostic('E-REG-002', `${this.#label} ${what} for ${spell(ref)} (header x-svc-sha256)`, {
      hint: 'without it nobody can tell whether the archive is whole: ask who runs the registry',
    });
  }

  /**
   * Whether these bytes are the variant of the platform or the generic file: D3's answer does not say, and the lock file and the stores keep
   * the two apart. The generic file is asked for and not read.
   */
  async #isVariant(
    ref: ArtifactRef,
    got: { readonly sha256: string; readonly etag: string | undefined },
  ): Promise<boolean> {
    const condition = got.etag === undefined ? {} : { 'if-none-match': got.etag };
    const generic = await this.#get(artifactPath(ref, null), condition);
    if (![200, 304, 404].includes(generic.status)) throw await this.#refusal(generic, `does not give ${spell(ref)}`);
    generic.discard();
    if (generic.status === 304) return false;
    return generic.status === 404 || generic.headers['x-svc-sha256'] !== got.sha256;
  }

  async #publishRefusal(answer: HttpAnswer, publication: Publication): Promise<Diagnostic> {
    const what = spell(publication);
    if (answer.status === 409) {
      answer.discard();
      const variants = publication.platforms.length === 0 ? '' : ` for ${publication.platforms.join(', ')}`;
      return new Diagnostic('E-REG-003', `${what}${variants} is published already at ${this.#label}`, {
        hint: 'what is published never changes: publish a new version',
      });
    }
    return await this.#refusal(answer, `does not take ${what}`);
  }

  /** D3 "Registry client mapping". What is not in it is `E-IO-003` with what the registry says. */
  async #refusal(answer: HttpAnswer, what: string): Promise<Diagnostic> {
    const { url, key, keyName } = this.#address;
    const { error, shown } = await readErrorText(answer, key);
    const message = `${this.#label} ${what} (${answer.status})${shown}`;
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

function artifactPath({ name, version }: ArtifactRef, platform: string | null): string {
  const path = `/${encodeURIComponent(name)}/${encodeURIComponent(version)}`;
  return platform === null ? path : `${path}?platform=${encodeURIComponent(platform)}`;
}

/** How an artifact is packaged (D3 "Registry", publish query `runtime`). */
const packagings = ['wasm', 'native', 'static'] as const;
export type Packaging = (typeof packagings)[number];

const indexObject = z.object({
  name: z.string(),
  version: z.string(),
  runtime: z.enum(packagings),
  artifact_runtime: z.enum(['tool', 'hook', 'driver', 'skill']),
  platforms: z._default(listOf(z.tuple([z.string(), z.string()])), []),
  description: z._default(z.nullable(z.string()), null),
  tags: z._default(listOf(z.string()), []),
});

/** One version in the index of a registry (D3 "Registry index object"). */
export type IndexObject = z.infer<typeof indexObject>;

export type IndexReading =
  | { readonly kind: 'index'; readonly objects: readonly IndexObject[] }
  | { readonly kind: 'unparsable'; readonly reason: string };

/** The body of `GET /v1/artifacts`. One object that is not as D3 has it makes the whole unparsable. */
export function parseIndex(text: string): IndexReading {
  const value = parseJson(text);
  if (value === undefined) return { kind: 'unparsable', reason: 'it is not JSON' };
  if (!Array.isArray(value)) return { kind: 'unparsable', reason: 'it is no list' };
  const objects: IndexObject[] = [];
  // One by one: of a whole list, a schema would keep an error for each of millions.
  for (const [index, each] of value.entries()) {
    const parsed = indexObject.safeParse(each, { jitless: true });
    if (!parsed.success) return { kind: 'unparsable', reason: faultOf(index, parsed.error) };
    objects.push(parsed.data);
  }
  return { kind: 'index', objects };
}

function faultOf(index: number, { issues: [issue] }: z.core.$ZodError): string {
  const place = [index, ...(issue?.path ?? [])].map(String).join('.');
  return printable(`${place} is missing, or not what it should be`);
}
