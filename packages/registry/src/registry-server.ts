/** Routes the requests of the registry and asks each for its key. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { emptyReply, jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { Handler, RequestHead, Route } from '@svc/kit/http/route.ts';
import { HttpServer, type Answered, type BindAddress, type BindOutcome } from '@svc/kit/http/server.ts';
import { ArtifactRecords, ArtifactIndex } from './artifact-records.ts';
import { renderAddress } from './settings.ts';
import { download, downloadPrefix } from './download.ts';
import { encodeEntityTag, namesTag } from '@svc/protocol/entity-tag.ts';
import { artifactsPath, signatureLimits } from '@svc/protocol/registry-messages.ts';
import type { ObjectStore } from './object-store.ts';
import { type SlowestPace, publish, type Publishing } from './publish.ts';
import { diskFull, ioError, storeUnavailable } from './refusals.ts';
import { addSignature, readSignatures, signaturesPrefix } from './signatures.ts';
import type { StagingArea } from './staging.ts';

export interface RegistryOptions {
  readonly store: ObjectStore;
  readonly staging: StagingArea;
  readonly key: Secret;
  readonly maxBytes: number;
  /** Tells staging areas of several servers apart, together with the address. */
  readonly hostname: string;
  readonly slowest?: SlowestPace;
  readonly onAnswered?: (answered: Answered) => void;
  /** Called with what the operator can act on: a store that fails, a damaged record. Each damaged record is reported once. */
  readonly onFault: (fault: Diagnostic) => void;
  readonly onBug: (error: unknown) => void;
}

const health: Route = { method: 'GET', path: '/healthz', body: 'unread', handle: () => jsonReply({ status: 'ok' }) };

/** 1 KiB a second: slower than any line, and the longest a dead sender is waited for. */
const slowestPace: SlowestPace = { bytes: 32 * 1024, ms: 32_000 };

/**
 * The artifact registry (D3 "Registry"): every endpoint asks for the key, and so does every path that is not served (D3 "Authentication" 1). Who has
 * no key asks after its health on an address of its own, which serves nothing else.
 */
export class RegistryServer {
  readonly #server: HttpServer;
  readonly #options: RegistryOptions;
  readonly #records: ArtifactRecords;
  readonly #index: ArtifactIndex;
  readonly #running = new Set<Promise<unknown>>();
  readonly #told = new Set<string>();
  #health: HttpServer | null = null;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#records = new ArtifactRecords(options.store);
    this.#index = new ArtifactIndex(this.#records, (fault) => this.#tellOnce(fault));
    this.#server = new HttpServer({
      routes: this.#routes(),
      token: options.key,
      onBug: options.onBug,
      // A publish may take its time as long as its body keeps coming; nothing else reads one.
      requestTimeoutMs: 0,
      // What a foreign page could do by another name of this address, it cannot do without the key.
      anyHost: true,
      ...(options.onAnswered === undefined ? {} : { onAnswered: options.onAnswered }),
    });
  }

  /** Binds once, removes what a killed server left, and reads the index ahead of the first question. */
  async open(address: BindAddress): Promise<BindOutcome> {
    const outcome = await this.#server.bind(address);
    if (outcome.kind !== 'bound') return outcome;
    // Nobody has staged anything yet: no connection is looked at before this function waits.
    await this.#options.staging.claim(`${this.#options.hostname}_${renderAddress(outcome)}`);
    void this.#index.current().catch((error: unknown) => {
      if (this.#failed(error) === error) this.#options.onBug(error);
    });
    return outcome;
  }

  /** Answers `GET /healthz` without the key at another address, and nothing else there. */
  async openHealth(address: BindAddress): Promise<BindOutcome> {
    this.#health = new HttpServer({ routes: [health], token: null, anyHost: true, onBug: this.#options.onBug });
    return await this.#health.bind(address);
  }

  /** Removes signatures of a day ago whose archives were never published. */
  async sweepSignatures(): Promise<void> {
    await this.#index.current();
    const published = new Set(Array.from(this.#records.all(), ({ sha256 }) => sha256));
    await this.#options.store.signatures.sweep((sha256) => published.has(sha256));
  }

  /** Takes nothing new, lets what runs end for `graceMs`, and waits until what was cut has cleaned up. */
  async close(graceMs: number): Promise<void> {
    await Promise.all([this.#server.close(graceMs), this.#health?.close(0)]);
    await Promise.allSettled(this.#running);
  }

  #routes(): Route[] {
    const { store, staging, maxBytes, slowest = slowestPace } = this.#options;
    const publishing: Publishing = { records: this.#records, staging, maxBytes, slowest };
    return [
      health,
      {
        method: 'GET',
        path: artifactsPath,
        body: 'unread',
        handle: this.#guarded((head) => this.#listing(head)),
      },
      {
        method: 'POST',
        path: artifactsPath,
        body: 'streamed',
        maxBytes,
        handle: this.#guarded((request) => publish(request, publishing)),
      },
      {
        method: 'GET',
        path: downloadPrefix,
        prefix: true,
        body: 'unread',
        handle: this.#guarded((head) => download(head, this.#records, store)),
      },
      {
        method: 'GET',
        path: signaturesPrefix,
        prefix: true,
        body: 'unread',
        handle: this.#guarded((head) => readSignatures(head, store.signatures)),
      },
      {
        method: 'POST',
        path: signaturesPrefix,
        prefix: true,
        body: 'whole',
        maxBytes: signatureLimits.maxBundleBytes,
        handle: this.#guarded((request) => addSignature(request, store.signatures)),
      },
    ];
  }

  async #listing({ headers }: RequestHead): Promise<Reply> {
    const { json, sha256 } = await this.#index.current();
    const tag = { etag: encodeEntityTag(sha256) };
    const known = headers['if-none-match'];
    if (known !== undefined && namesTag(known, tag.etag)) return emptyReply(304, tag);
    return { kind: 'bytes', status: 200, headers: tag, contentType: 'application/json', bytes: json };
  }

  /** Turns a store that fails into an answer, and keeps the work in sight until it is done. */
  #guarded<Served extends RequestHead>(handle: (request: Served) => Promise<Reply>): Handler<Served> {
    return async (request) => {
      const work = handle(request).catch((error: unknown) => {
        throw this.#failed(error);
      });
      this.#running.add(work);
      try {
        return await work;
      } finally {
        this.#running.delete(work);
      }
    };
  }

  /** The answer to a fault of the store, which is told; anything else as it is. */
  #failed(error: unknown): unknown {
    if (!(error instanceof Diagnostic)) return error;
    if (error.code === 'E-REG-023') this.#tellOnce(error);
    else this.#options.onFault(error);
    if (error.code === 'E-REG-025') return storeUnavailable();
    const { cause } = error;
    return isSystemError(cause) && (cause.code === 'ENOSPC' || cause.code === 'EDQUOT') ? diskFull() : ioError();
  }

  #tellOnce(fault: Diagnostic): void {
    if (this.#told.has(fault.message)) return;
    this.#told.add(fault.message);
    this.#options.onFault(fault);
  }
}
