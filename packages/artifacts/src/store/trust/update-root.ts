/** Updates the list of trusted authorities and logs, by metadata that the list in use vouches for (The Update Framework). */

import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { BaseFetcher, Updater } from 'tuf-js';
import { DownloadHTTPError } from 'tuf-js/dist/error.js';

import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';
import type { HttpClient } from '@svc/kit/net/http-client.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { asJsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { readTrustRoot, type TrustRoot, updatedRootFile } from './trust-root.ts';
import { BundleVerifier } from './verify-bundles.ts';

/** Where the public instance of Sigstore publishes its metadata. */
export const publicMirror = 'https://tuf-repo-cdn.sigstore.dev';

export interface RootUpdate {
  readonly userHome: string;
  readonly packageRoot: string;
  readonly mirror: string;
  /** The `root.json` to begin with; null for what the last update left, or what comes with `svc` for the public mirror. */
  readonly initialRoot: string | null;
  readonly http: HttpClient;
}

export interface UpdatedRoot {
  readonly path: string;
  /** Whether signatures are held to another list from now on. */
  readonly changed: boolean;
  /** Of the metadata that vouch for it. */
  readonly version: number;
  readonly expires: string;
}

const target = 'trusted_root.json';
/** What is kept from one update to the next, so that nobody can go back to what was replaced. */
const kept = ['root.json', 'timestamp.json', 'snapshot.json', 'targets.json'] as const;

/**
 * Fetches the list and puts it in the place of the one before. `E-REG-015` when that cannot be done, `E-IO-001` when the system refuses it; the one before
 * stays.
 */
export async function updateTrustRoot(update: RootUpdate): Promise<UpdatedRoot> {
  const { userHome, packageRoot, mirror } = update;
  const path = updatedRootFile(userHome);
  const place = join(userHome, '.svc', 'trust');
  const metadata = join(place, `metadata-${sha256Hex(mirror).slice(0, 16)}`);
  await makeDirectory(metadata, 0o700);
  // The library writes into its files where they are: it gets copies.
  const scratch = makeScratch(place, '.update-');
  try {
    prepare(scratch, metadata, update);
    const text = await follow(scratch, update);
    // What is no such list is not kept.
    const fetched = { file: `${mirror}/${target}`, text, sha256: sha256Hex(text) };
    holdToShape(fetched);
    const before = readTrustRoot({ root: null }, { userHome, packageRoot });
    for (const name of kept) {
      if (existsSync(join(scratch, name))) await replaceFile(join(metadata, name), [readFileSync(join(scratch, name))]);
    }
    await replaceFile(path, [Buffer.from(text)]);
    return { path, changed: before.sha256 !== fetched.sha256, ...ofRoot(scratch) };
  } catch (error) {
    throw ioFault(error, `cannot write to ${place}`);
  } finally {
    removeScratch(scratch);
  }
}

function prepare(scratch: string, metadata: string, { initialRoot, packageRoot, mirror }: RootUpdate): void {
  if (initialRoot !== null) {
    writeFileSync(join(scratch, 'root.json'), bytesOf(initialRoot));
    return;
  }
  for (const name of kept) {
    if (existsSync(join(metadata, name))) copyFileSync(join(metadata, name), join(scratch, name));
  }
  if (existsSync(join(scratch, 'root.json'))) return;
  if (mirror !== publicMirror) {
    throw new Diagnostic('E-REG-015', `nothing vouches for ${mirror} yet`, {
      hint: 'name its root.json with --initial, as you got it from whoever runs it',
    });
  }
  copyFileSync(join(packageRoot, 'dist', 'trust', 'root.json'), join(scratch, 'root.json'));
}

function bytesOf(named: string): Buffer {
  try {
    return readFileSync(named);
  } catch (error) {
    throw ioFault(error, `cannot read ${named}`);
  }
}

async function follow(scratch: string, { mirror, http }: RootUpdate): Promise<string> {
  try {
    const updater = new Updater({
      metadataDir: scratch,
      metadataBaseUrl: mirror,
      targetDir: scratch,
      targetBaseUrl: `${mirror}/targets`,
      fetcher: new HttpFetcher(http, mirror),
    });
    await updater.refresh();
    const found = await updater.getTargetInfo(target);
    if (found === undefined) throw new Error(`it has no ${target}`);
    const file = join(scratch, 'fetched.json');
    writeFileSync(file, '');
    await updater.downloadTarget(found, file);
    return readFileSync(file, 'utf8');
  } catch (error) {
    // The library throws errors of many kinds for metadata that are not what they should be.
    if (error instanceof Diagnostic || isSystemError(error) || !(error instanceof Error)) throw error;
    const reason = printable(shortened(error.message, 200));
    throw new Diagnostic('E-REG-015', `${mirror} gives no list of authorities that can be trusted: ${reason}`, {
      hint: 'the list of before stays; try again later, and ask who runs it if this goes on',
    });
  }
}

function holdToShape(fetched: TrustRoot): void {
  const fault = diagnosticOf(() => void new BundleVerifier(fetched, []));
  if (fault !== null) throw new Diagnostic('E-REG-015', fault.message, { hint: 'the list of before stays' });
}

/** Asks as all commands do: through the proxy of the operator, with bounds on time and size. */
class HttpFetcher extends BaseFetcher {
  readonly #http: HttpClient;
  readonly #mirror: string;

  constructor(http: HttpClient, mirror: string) {
    super();
    this.#http = http;
    this.#mirror = mirror;
  }

  async fetch(url: string): Promise<NodeJS.ReadableStream> {
    const answer = await this.#http.send({ label: this.#mirror, url: new URL(url), key: null });
    if (answer.status === 200) return Readable.from(answer.body());
    answer.discard();
    throw new DownloadHTTPError(`it answers ${answer.status} for ${url}`, answer.status);
  }
}

function ofRoot(scratch: string): Pick<UpdatedRoot, 'version' | 'expires'> {
  const signed = asJsonObject(parseJsonObject(readFileSync(join(scratch, 'root.json'), 'utf8'))?.['signed']);
  return { version: Number(signed?.['version']), expires: String(signed?.['expires']) };
}
