/** An artifact registry (D3 "Registry"). */

import {
  artifactsPath,
  decodeIndex,
  decodeReceipt,
  decodeSha256,
  encodeArchiveTarget,
  encodePublishQuery,
  sha256Header,
  type IndexObject,
  type PublishQuery,
} from '@svc/protocol/registry-messages.ts';
import { ClientError } from './client-error.ts';
import { checkHashing, type DoorOptions, HttpDoor, sha256Hex } from './http-door.ts';

export interface RegistryCall {
  readonly signal?: AbortSignal | undefined;
}

export interface Archive {
  /** Their SHA-256 is `sha256`. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sha256: string;
}

/** A slower upload counts as stalled. */
const slowestBytesASecond = 64 * 1024;

/** `url` is written without `/v1`, `token` is the client key. */
export class RegistryClient {
  readonly #door: HttpDoor;

  constructor(options: DoorOptions) {
    this.#door = new HttpDoor(options);
  }

  /** Every version that is published. */
  async index({ signal }: RegistryCall = {}): Promise<readonly IndexObject[]> {
    const asked = { method: 'GET', target: artifactsPath, signal } as const;
    const reading = decodeIndex(await this.#door.text(asked, { maxBytes: this.#door.limits.maxIndexBytes }));
    if (reading.kind === 'index') return reading.objects;
    throw new ClientError('bad-answer', `the index of ${this.#door.url} cannot be understood: ${reading.reason}`);
  }

  /** The variant for a platform (`os-arch`) where there is one, else the generic file; null when there is neither. */
  async archive(
    name: string,
    version: string,
    { platform = null, signal }: RegistryCall & { readonly platform?: string | null } = {},
  ): Promise<Archive | null> {
    checkHashing();
    const asked = { method: 'GET', target: encodeArchiveTarget(name, version, platform), signal } as const;
    return await this.#door.ask(asked, async (answer) => {
      if (answer.status === 404) return null;
      if (answer.status !== 200) throw await this.#door.refusal(answer);
      const { maxFileBytes, idleMs } = this.#door.limits;
      const sha256 = decodeSha256(answer.header(sha256Header));
      if (sha256 === null) throw new ClientError('bad-answer', `${this.#door.url} names no hash of ${name}@${version}`);
      const bytes = await answer.bytes(maxFileBytes, idleMs);
      if ((await sha256Hex(bytes)) === sha256) return { bytes, sha256 };
      throw new ClientError('bad-answer', `${name}@${version} from ${this.#door.url} is not what its hash says`);
    });
  }

  /**
   * Publishes an archive and checks the receipt. It does not retry: nobody would know what the first try did. `timeoutMs` covers the upload and
   * the answer; without it `callMs` applies, and one second more for each 64 KiB.
   */
  async publish(
    query: PublishQuery,
    archive: Uint8Array<ArrayBuffer>,
    { timeoutMs, signal }: RegistryCall & { readonly timeoutMs?: number | undefined } = {},
  ): Promise<void> {
    const sha256 = await sha256Hex(archive);
    signal?.throwIfAborted();
    const target = `${artifactsPath}?${encodePublishQuery(query)}`;
    const headers = { 'content-type': 'application/octet-stream' };
    // `fetch` reports no progress of an upload, so silence is no bound.
    const callMs = timeoutMs ?? this.#door.limits.callMs + (archive.length / slowestBytesASecond) * 1000;
    const receipt = await this.#door.json({ method: 'POST', target, headers, body: archive, signal, callMs }, [201]);
    if (decodeReceipt(receipt) === sha256) return;
    throw new ClientError('bad-answer', `${this.#door.url} confirms ${query.name}@${query.version} with another hash`);
  }
}
