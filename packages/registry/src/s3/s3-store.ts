/** Stores archives and records in an S3 bucket that several servers may share. */

import type { Readable } from 'node:stream';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { ByteSpan, NewObject, ObjectStore } from '../object-store.ts';
import { S3Body } from './s3-body.ts';
import { S3Client, type S3ClientOptions } from './s3-client.ts';
import { notAnswering } from './s3-answers.ts';
import { listObjects } from './s3-listing.ts';
import { decodeCommitted, encodeCommitted, S3Layout, type CommittedObject } from './s3-layout.ts';
import { S3Signatures } from './s3-signatures.ts';
import type { S3Settings } from '../settings.ts';

export interface S3StoreOptions extends S3ClientOptions {
  /** Called with what no caller hears of: a download that had to be cut, a leftover that could not be removed. */
  readonly onFault: (fault: Diagnostic) => void;
}

/** The time from the first byte of an archive to its commit, far below the age at which an archive that nothing refers to is a leftover. */
const maxPutMs = 2 * 60 * 60_000;

/**
 * Objects in a bucket, for any number of servers. An archive is brought first, under a name that nobody else uses; then one conditional put
 * of the record, which names it, is the commit. A writer that dies between leaves an archive that nothing refers to.
 */
export class S3Store implements ObjectStore {
  readonly signatures: S3Signatures;
  readonly #client: S3Client;
  readonly #layout: S3Layout;
  readonly #options: S3StoreOptions;
  /** What has been read never changes. */
  readonly #committed = new Map<string, Omit<CommittedObject, 'record'>>();

  private constructor(client: S3Client, layout: S3Layout, options: S3StoreOptions) {
    this.signatures = new S3Signatures(client, layout);
    this.#client = client;
    this.#layout = layout;
    this.#options = options;
  }

  /**
   * `E-REG-024` when the service does not let this server in, `E-REG-025` when it does not answer, `E-REG-026` when it would let one
   * publish replace another.
   */
  static async open(settings: S3Settings, options: S3StoreOptions): Promise<S3Store> {
    const client = new S3Client(settings, options);
    const layout = new S3Layout(settings.prefix);
    try {
      await probeService(client, layout);
    } catch (error) {
      client.close();
      throw error;
    }
    return new S3Store(client, layout, options);
  }

  async put(key: string, { record, archive }: NewObject): Promise<'stored' | 'taken'> {
    const { bytes, sha256, path } = archive;
    const startedMs = this.#options.now().getTime();
    const committed = { archive: newName(), bytes, sha256, record };
    const attempt = `store ${key}`;
    const name = this.#layout.archive(key, committed.archive);
    const body = { kind: 'file', path, bytes, sha256 } as const;
    await this.#client.ask({ attempt, method: 'PUT', name, body, expected: [200] });
    // A machine that slept in between would commit what others may have swept.
    if (this.#options.now().getTime() - startedMs > maxPutMs) throw notAnswering(attempt, 'it took too long');
    const outcome = await this.#commit(attempt, this.#layout.record(key), encodeCommitted(committed));
    // Somebody else's record is there for ever, so that this archive can never be referred to.
    if (outcome === 'taken') await this.#remove(name);
    return outcome;
  }

  async readRecord(key: string): Promise<string | null> {
    return (await this.#read(key))?.record ?? null;
  }

  async openArchive(key: string, span?: ByteSpan): Promise<Readable | null> {
    const { archive, bytes, sha256 } = this.#committed.get(key) ?? (await this.#read(key)) ?? {};
    if (archive === undefined || bytes === undefined || sha256 === undefined) return null;
    const attempt = `read the archive of ${key}`;
    const range = span === undefined ? {} : { headers: { range: `bytes=${span.first}-${span.last}` } };
    const name = this.#layout.archive(key, archive);
    const expected = [span === undefined ? 200 : 206, 404];
    const { headers, content } = await this.#client.open({ attempt, method: 'GET', name, expected, ...range });
    if (content === null) return null;
    if (span !== undefined && headers['content-range'] !== `bytes ${span.first}-${span.last}/${bytes}`) {
      content.destroy();
      throw new Diagnostic('E-REG-023', `cannot ${attempt}: the service sends another part than was asked for`);
    }
    const { onFault } = this.#options;
    const { idleMs } = this.#client.limits;
    const part = span === undefined ? { bytes, sha256 } : { bytes: span.last - span.first + 1, sha256: null };
    return new S3Body(content, { attempt, ...part, idleMs, onFault });
  }

  async listKeys(): Promise<readonly string[]> {
    return await this.#keysBelow(this.#layout.records, (name) => this.#layout.keyOfRecord(name));
  }

  async putState(key: string, text: string): Promise<'stored' | 'taken'> {
    return await this.#commit(`store the state ${key}`, this.#layout.state(key), text);
  }

  async readState(key: string): Promise<string | null> {
    return await this.#readText(`read the state ${key}`, this.#layout.state(key));
  }

  async listStateKeys(): Promise<readonly string[]> {
    return await this.#keysBelow(this.#layout.states, (name) => this.#layout.keyOfState(name));
  }

  /** Removes archives that nothing refers to and nothing ever will. */
  async sweep(): Promise<void> {
    await sweepLeftovers(this.#client, this.#layout, async (key) => (await this.#read(key))?.archive ?? null);
  }

  close(): void {
    this.#client.close();
  }

  async #keysBelow(folder: string, keyOf: (name: string) => string | null): Promise<readonly string[]> {
    const keys: string[] = [];
    for await (const { objects } of listObjects(this.#client, folder)) {
      for (const { name } of objects) {
        const key = keyOf(name);
        if (key !== null) keys.push(key);
      }
    }
    return keys;
  }

  /** Puts a text under a name that nothing has. */
  async #commit(attempt: string, name: string, text: string): Promise<'stored' | 'taken'> {
    const { status } = await this.#client.ask({
      attempt,
      method: 'PUT',
      name,
      headers: { 'if-none-match': '*' },
      body: { kind: 'text', text },
      expected: [200, 412],
    });
    if (status === 200) return 'stored';
    // It may be this very text, of an attempt whose answer was lost.
    const present = await this.#readText(`${attempt}: read what is there`, name);
    if (present === null) throw notAnswering(attempt, 'the record is said to be there and is not');
    return present === text ? 'stored' : 'taken';
  }

  async #read(key: string): Promise<CommittedObject | null> {
    const text = await this.#readText(`read the record of ${key}`, this.#layout.record(key));
    if (text === null) return null;
    const committed = decodeCommitted(text);
    if (committed === null)
      throw new Diagnostic('E-REG-023', `the record of ${key} is missing or cannot be understood`);
    const { record: _, ...archive } = committed;
    this.#committed.set(key, archive);
    return committed;
  }

  async #readText(attempt: string, name: string): Promise<string | null> {
    const call = { attempt, method: 'GET', name, expected: [200, 404] } as const;
    const { status, content } = await this.#client.ask(call);
    return status === 404 ? null : content;
  }

  async #remove(name: string): Promise<void> {
    try {
      await this.#client.ask({ attempt: `remove ${name}`, method: 'DELETE', name, expected: [200, 204, 404] });
    } catch (error) {
      // Harmless: the next sweep finds it.
      if (!(error instanceof Diagnostic)) throw error;
      this.#options.onFault(error);
    }
  }
}

/** Nobody takes so long from bringing an archive to committing it. */
const leftoverAgeMs = 24 * 60 * 60_000;

/**
 * Removes the archives that a killed or cut-off writer left: those that came a day ago or earlier and that the record of their key does not
 * name. `archiveOf` reads which one it names, null when there is no record. All ages are by the clock of the service.
 */
async function sweepLeftovers(
  client: S3Client,
  layout: S3Layout,
  archiveOf: (key: string) => Promise<string | null>,
): Promise<void> {
  const recorded = new Set<string>();
  const old = new Map<string, string[]>();
  // Archives first: what is committed after this listing has an archive that is younger than a day.
  for await (const { objects, answeredMs } of listObjects(client, layout.archives)) {
    for (const { name, changedMs } of objects) {
      const parsed = layout.parseArchive(name);
      if (parsed === null || answeredMs === null || answeredMs - changedMs < leftoverAgeMs) continue;
      old.set(parsed.key, [...(old.get(parsed.key) ?? []), parsed.id]);
    }
  }
  for await (const { objects } of listObjects(client, layout.records)) {
    for (const { name } of objects) recorded.add(layout.keyOfRecord(name) ?? '');
  }
  for (const [key, ids] of old) {
    // The usual case, which costs nothing: the one archive of a key with a record is the one it names.
    if (recorded.has(key) && ids.length === 1) continue;
    const kept = await archiveOf(key);
    // Listed a moment ago, and now said to be absent: one of the two answers is wrong.
    if (kept === null && recorded.has(key)) continue;
    for (const id of ids) if (id !== kept) await remove(client, layout.archive(key, id));
  }
}

async function remove(client: S3Client, name: string): Promise<void> {
  await client.ask({ attempt: `remove ${name}`, method: 'DELETE', name, expected: [200, 204, 404] });
}

const writers = 4;

function newName(): string {
  return Buffer.from(systemClock.randomBytes(16)).toString('hex');
}

/** No artifact has this key, so that a probe that was cut is swept like any archive that nothing refers to. */
const probeKey = 'probe';

/**
 * Whether the bucket can be listed, written and read, and whether of several writers of one name exactly one succeeds: a service that
 * does not know `If-None-Match` says yes to all of them, and publishes would replace one another. `E-REG-024`, `E-REG-025`, `E-REG-026`.
 */
async function probeService(client: S3Client, layout: S3Layout): Promise<void> {
  const query = { 'list-type': '2', prefix: layout.records, 'max-keys': '1' };
  await client.ask({ attempt: 'list the bucket', method: 'GET', query, expected: [200] });
  const name = layout.archive(probeKey, newName());
  const works = await probeConditionalPut(client, name);
  await client.ask({ attempt: 'remove from the bucket', method: 'DELETE', name, expected: [200, 204, 404] });
  if (works) return;
  throw new Diagnostic(
    'E-REG-026',
    'the S3 service has no conditional put: one writer could replace what another has stored',
    {
      hint: 'use a service that knows If-None-Match: * on PUT, or a store of files',
    },
  );
}

async function probeConditionalPut(client: S3Client, name: string): Promise<boolean> {
  const put = async (text: string): Promise<{ readonly text: string; readonly status: number }> => {
    const { status } = await client.ask({
      attempt: 'write to the bucket',
      method: 'PUT',
      name,
      headers: { 'if-none-match': '*' },
      body: { kind: 'text', text },
      expected: [200, 412, 501],
    });
    return { text, status };
  };
  const raced = await Promise.all(Array.from({ length: writers }, async (_, writer) => await put(`writer ${writer}`)));
  const late = await put('late');
  const { content } = await client.ask({ attempt: 'read the bucket', method: 'GET', name, expected: [200, 404] });
  const stored = raced.filter(({ status }) => status === 200);
  // None, where the one that was stored has lost its answer and was repeated.
  const one = stored.length === 0 ? content.startsWith('writer ') : stored.length === 1 && stored[0]?.text === content;
  return one && late.status === 412 && raced.every(({ status }) => status !== 501);
}
