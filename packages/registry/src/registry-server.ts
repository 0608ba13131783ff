/** Routes the requests of the registry and asks each for its key. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { emptyReply, jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { Handler, RequestHead, Route } from '@svc/kit/http/route.ts';
import type { BindAddress, BindOutcome } from '@svc/kit/http/listen.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import type { Answered } from '@svc/kit/http/server-options.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { encodeEntityTag, namesTag } from '@svc/protocol/entity-tag.ts';
import { artifactsPath, decodeSignaturesPath, signatureLimits } from '@svc/protocol/registry-messages.ts';
import { encodeVersions } from '@svc/protocol/version-states.ts';
import { Access, forbidden } from './access.ts';
import { ArtifactIndex } from './artifact-index.ts';
import { ArtifactRecords } from './artifact-records.ts';
import { changeState } from './change-state.ts';
import { renderAddress } from './settings.ts';
import { download, downloadPrefix } from './download.ts';
import { everyName } from './name-patterns.ts';
import { parseQuery } from './publish-query.ts';
import { nameOfVersions, pagesPrefix } from './paths.ts';
import type { ObjectStore } from './object-store.ts';
import { type SlowestPace, publish, type Publishing } from './publish.ts';
import { diskFull, ioError, leftOut, notFound, notServed, signaturesNotFound, storeUnavailable } from './refusals.ts';
import { SignatureCounts } from './signature-counts.ts';
import { addSignature, readSignatures, signaturesPrefix } from './signatures.ts';
import type { StagingArea } from './staging.ts';
import { VersionStates } from './version-states.ts';

export interface RegistryOptions {
  readonly store: ObjectStore;
  readonly staging: StagingArea;
  /** The key for everything; null where there are only those of `keysFile`. */
  readonly key: Secret | null;
  /** A file of more keys, read again when it changes. */
  readonly keysFile?: string | null;
  /** Lets everybody read who shows no key. */
  readonly anonymousRead?: boolean;
  readonly maxBytes: number;
  /** Identifies the staging area among those of several servers, with the address. */
  readonly hostname: string;
  readonly slowest?: SlowestPace;
  /** For any body but that of a publish; 30 s when absent. */
  readonly wholeBodyMs?: number;
  /** `keyId` names the key of the file that the request showed. */
  readonly onAnswered?: (answered: Answered, keyId: string | null) => void;
  /** Called with what the operator can act on: a store that fails, a damaged record. Each damaged record is reported once. */
  readonly onFault: (fault: Diagnostic) => void;
  readonly onBug: (error: unknown) => void;
}

const health: Route = { method: 'GET', path: '/healthz', body: 'unread', handle: () => jsonReply({ status: 'ok' }) };

/** The most bytes of the body of a change of state. */
const maxStateBytes = 16 * 1024;

/** 1 KiB a second: slower than any line, and the longest a dead sender is waited for. */
const slowestPace: SlowestPace = { bytes: 32 * 1024, ms: 32_000 };

/**
 * The artifact registry (D3 "Registry"): every endpoint asks for a key, and so does every path that is not served (D3 "Authentication" 1), unless
 * everybody may read. Who has no key asks after its health on an address of its own, which serves nothing else.
 */
export class RegistryServer {
  readonly #server: HttpServer;
  readonly #options: RegistryOptions;
  readonly #access: Access;
  readonly #states: VersionStates;
  readonly #records: ArtifactRecords;
  readonly #signatures: SignatureCounts;
  readonly #index: ArtifactIndex;
  readonly #running = new Set<Promise<unknown>>();
  readonly #told = new Set<string>();
  #health: HttpServer | null = null;

  /** `E-REG-021` when the file of the keys cannot be used. */
  constructor(options: RegistryOptions) {
    const { key, keysFile = null, anonymousRead = false, wholeBodyMs, onFault, onAnswered } = options;
    this.#options = options;
    this.#access = new Access({ key, keysFile, anonymousRead, onFault });
    this.#records = new ArtifactRecords(options.store);
    this.#states = new VersionStates(options.store);
    this.#signatures = new SignatureCounts({ store: options.store.signatures, onFault });
    this.#index = new ArtifactIndex({
      records: this.#records,
      states: this.#states,
      signatures: this.#signatures,
      onDamaged: (fault) => this.#tellOnce(fault),
    });
    this.#server = new HttpServer({
      routes: this.#routes(),
      // Keys differ in what they are for: the server's own single token cannot say that.
      token: null,
      admit: (request) => this.#access.admit(request),
      onBug: options.onBug,
      // A publish may take its time as long as its body keeps coming.
      requestTimeoutMs: 0,
      ...(wholeBodyMs === undefined ? {} : { wholeBodyMs }),
      // A foreign page that reaches this address by another name has no key, and gets what anybody gets: with `anonymousRead`, what all may read.
      anyHost: true,
      ...(onAnswered === undefined
        ? {}
        : { onAnswered: (answered, headers) => onAnswered(answered, this.#access.idOf(headers)) }),
    });
  }

  /** Binds once, removes what a killed server left, and reads the index ahead of the first question. */
  async open(address: BindAddress): Promise<BindOutcome> {
    const outcome = await this.#server.bind(address);
    if (outcome.kind !== 'bound') return outcome;
    // Nobody has staged anything yet: no connection is looked at before this function waits.
    await this.#options.staging.claim(`${this.#options.hostname}_${renderAddress(outcome)}`);
    void this.#index.current(everyName).catch((error: unknown) => {
      if (this.#failed(error) === error) this.#options.onBug(error);
    });
    return outcome;
  }

  /** Answers `GET /healthz` without the key at another address, and nothing else there. */
  async openHealth(address: BindAddress): Promise<BindOutcome> {
    this.#health = new HttpServer({ routes: [health], token: null, anyHost: true, onBug: this.#options.onBug });
    return await this.#health.bind(address);
  }

  /** Removes signatures that came a day ago or earlier and whose archives were never published; none while a record cannot be read, which may be that of their archive. */
  async sweepSignatures(): Promise<void> {
    await this.#index.current(everyName);
    if (!this.#records.isWhole) return;
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
    const [records, states, index, access] = [this.#records, this.#states, this.#index, this.#access];
    const publishing: Publishing = { records, index, access, staging, maxBytes, slowest };
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
        handle: this.#guarded((head) => this.#archiveOrVersions(head, store)),
      },
      {
        method: 'PUT',
        path: downloadPrefix,
        prefix: true,
        body: 'whole',
        maxBytes: maxStateBytes,
        handle: this.#guarded((request) => changeState(request, { records, states, access })),
      },
      {
        method: '*',
        path: downloadPrefix,
        prefix: true,
        body: 'unread',
        handle: this.#guarded(async (head) => {
          if (head.method === 'HEAD') return await this.#archiveOrVersions(head, store);
          throw notServed(head.path);
        }),
      },
      {
        method: 'GET',
        path: pagesPrefix,
        prefix: true,
        body: 'unread',
        handle: this.#guarded(async (head) => {
          const { answerPage } = await import('./pages/pages.ts');
          return await answerPage(head, { index, read: access.callerOf(head.headers).read });
        }),
      },
      {
        method: 'GET',
        path: signaturesPrefix,
        prefix: true,
        body: 'unread',
        handle: this.#guarded((head) => this.#signaturesFor(head, store)),
      },
      {
        method: 'POST',
        path: signaturesPrefix,
        prefix: true,
        body: 'whole',
        maxBytes: signatureLimits.maxBundleBytes,
        handle: this.#guarded(async (request) => {
          const caller = access.callerOf(request.headers);
          const sha256 = decodeSignaturesPath(request.path) ?? '';
          // A signature may come before its archive: there is no name yet that it could be for (docs/adr/registry.md "Who brings signatures").
          if (caller.publish.text === '') throw forbidden(caller, 'bring signatures');
          const names = await this.#index.namesOf(sha256);
          if (names.length > 0 && !names.some((name) => caller.publish.allows(name)))
            throw forbidden(caller, 'bring signatures of this archive');
          const reply = await addSignature(request, store.signatures);
          this.#signatures.forget(sha256);
          return reply;
        }),
      },
    ];
  }

  async #archiveOrVersions(head: RequestHead, store: ObjectStore): Promise<Reply> {
    const { read } = this.#access.callerOf(head.headers);
    const name = nameOfVersions(head.path);
    if (name === null) return await download(head, { store, records: this.#records, states: this.#states, read });
    parseQuery(head.query, []);
    const versions = read.allows(name) ? await this.#index.versionsOf(name) : [];
    if (versions.length === 0) throw notFound(name, null);
    const bytes = Buffer.from(encodeVersions(name, await this.#index.withSignatures(versions)));
    // Weak: a state may be written in other words some day.
    const tag = encodeEntityTag(sha256Hex(bytes));
    const headers = { etag: `W/${tag}` };
    const known = head.headers['if-none-match'];
    if (known !== undefined && namesTag(known, tag)) return emptyReply(304, headers);
    return { kind: 'bytes', status: 200, headers, contentType: 'application/json', bytes };
  }

  /** A signature says what its archive is and who made it: it is for those who may read or publish a name that the archive has, if it has one. */
  async #signaturesFor(head: RequestHead, store: ObjectStore): Promise<Reply> {
    const { read, publish: published } = this.#access.callerOf(head.headers);
    const readsAll = read.text === everyName.text;
    const names = readsAll ? [] : await this.#index.namesOf(decodeSignaturesPath(head.path) ?? '');
    const isForThem = names.length === 0 || names.some((name) => read.allows(name) || published.allows(name));
    if (!isForThem) throw signaturesNotFound();
    return await readSignatures(head, store.signatures);
  }

  async #listing({ headers }: RequestHead): Promise<Reply> {
    const { json, sha256 } = await this.#index.current(this.#access.callerOf(headers).read);
    const tag = { etag: encodeEntityTag(sha256) };
    const known = headers['if-none-match'];
    if (known !== undefined && namesTag(known, tag.etag)) return emptyReply(304, tag);
    return { kind: 'bytes', status: 200, headers: tag, contentType: 'application/json', bytes: json, isShared: true };
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

  /** The answer to a fault of the store, which is reported; anything else as it is. */
  #failed(error: unknown): unknown {
    if (!(error instanceof Diagnostic)) return error;
    if (error.code === 'E-RUN-190') return leftOut(error);
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
