/** Updates the list of trusted authorities and logs, by metadata that the list in use vouches for (The Update Framework). */

import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';

import { BaseFetcher, Updater } from 'tuf-js';
import { DownloadHTTPError } from 'tuf-js/dist/error.js';

import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
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
  /** The version of the metadata that vouch for the list. */
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
  const fault = endpointFault(update.mirror);
  if (fault !== undefined) throw new Diagnostic('E-REG-015', `the mirror ${fault}`);
  const mirror = update.mirror.replace(/\/+$/, '');
  const path = updatedRootFile(update.userHome);
  const place = dirname(path);
  const metadata = join(place, `metadata-${sha256Hex(mirror).slice(0, 16)}`);
  await makeDirectory(metadata, 0o700);
  // The library writes into its files where they are: it gets copies.
  const scratch = makeScratch(place, '.update-');
  try {
    // If two ran at once, the one that began with older metadata would put them back.
    return await withGuard(path, async () => await updateIn({ path, metadata, scratch }, { ...update, mirror }));
  } catch (error) {
    throw ioFault(error, `cannot write to ${place}`);
  } finally {
    removeScratch(scratch);
  }
}

interface UpdatePlaces {
  /** The list in use. */
  readonly path: string;
  readonly metadata: string;
  readonly scratch: string;
}

async function updateIn({ path, metadata, scratch }: UpdatePlaces, update: RootUpdate): Promise<UpdatedRoot> {
  const { userHome, packageRoot, mirror, initialRoot } = update;
  prepare(scratch, metadata, update);
  const keep = async (name: string): Promise<void> => {
    const file = join(scratch, name);
    if (existsSync(file)) await replaceFile(join(metadata, name), [readFileSync(file)]);
  };
  try {
    const text = await follow(scratch, update);
    // What is no such list is not kept.
    const fetched = { file: `${mirror}/${target}`, text, sha256: sha256Hex(text) };
    holdToShape(fetched);
    const before = readTrustRoot({ root: null }, { userHome, packageRoot });
    for (const name of kept) await keep(name);
    await replaceFile(path, [Buffer.from(text)]);
    return { path, changed: before.sha256 !== fetched.sha256, ...ofRoot(scratch) };
  } catch (error) {
    // Whom the keys of before have replaced them with holds, whatever came after: they are not to be taken again.
    if (initialRoot === null) await keep('root.json');
    throw error;
  }
}

function prepare(scratch: string, metadata: string, { initialRoot, packageRoot, mirror }: RootUpdate): void {
  const root = join(scratch, 'root.json');
  if (initialRoot !== null) {
    writeFileSync(root, bytesOf(initialRoot));
    return;
  }
  for (const name of kept) {
    if (existsSync(join(metadata, name))) writeFileSync(join(scratch, name), bytesOf(join(metadata, name)));
  }
  if (existsSync(root)) {
    if (parseJsonObject(readFileSync(root, 'utf8')) !== null) return;
    throw new Diagnostic('E-REG-015', `${join(metadata, 'root.json')} is damaged`, {
      hint: 'remove it, or name a root.json that you trust with --initial',
    });
  }
  if (mirror !== publicMirror) {
    throw new Diagnostic('E-REG-015', `nothing vouches for ${mirror} yet`, {
      hint: 'name its root.json with --initial, as you got it from its operator',
    });
  }
  copyFileSync(join(packageRoot, 'dist', 'trust', 'root.json'), root);
}

/** More than the library takes of any metadata. */
const largestMetadata = 8 * 1024 * 1024;

function bytesOf(file: string): Buffer {
  try {
    const bytes = readFileUpTo(file, largestMetadata);
    if (bytes !== undefined) return bytes;
  } catch (error) {
    throw ioFault(error, `cannot read ${file}`);
  }
  throw new Diagnostic('E-IO-001', `cannot read ${file}: it is larger than 8 MiB`);
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
