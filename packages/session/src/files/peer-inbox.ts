/** Receives files of other capsules into the inbox of the workdir. */

import { fsync } from 'node:fs';
import { promisify } from 'node:util';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { keepInPlaceOf, openAgentDirectory } from '@svc/kit/files/agent-directory.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { writeAll, readUpTo } from '@svc/kit/files/read-up-to.ts';
import { TemporaryFile } from '@svc/kit/files/replace-file.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { singleHeader } from '@svc/kit/http/hygiene.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { decodeRefusal } from '@svc/protocol/refusal.ts';
import { decodeFileFacts } from '@svc/protocol/resource-files.ts';
import type { ResourceRefusalCode } from '@svc/protocol/resource-refusals.ts';

const sync = promisify(fsync);

/** Where fetched files are kept, below the accessible workdir (D3 "Agent tools"). */
export const inboxDirectory = 'peer-in';

/**
 * A file on its way into `peer-in/`: under a temporary name until it is whole, through no link that the agent planted. All methods throw, or
 * reject with, the system's errors. `discard` is always called last.
 */
class IncomingFile {
  readonly #base: HeldDirectory;
  readonly #file: TemporaryFile;
  readonly #name: string;

  /** `name` is the one it is to get. */
  constructor(workdir: string, name: string) {
    this.#name = name;
    this.#base = openAgentDirectory(workdir, inboxDirectory);
    try {
      this.#file = new TemporaryFile(this.#base.path);
    } catch (error) {
      this.#base.close();
      throw error;
    }
  }

  async write(bytes: Buffer): Promise<void> {
    await writeAll(this.#file.fd, bytes);
  }

  /** Gives the file its name; one that was fetched with the same handle before gives way. */
  async keep(): Promise<void> {
    await sync(this.#file.fd);
    keepInPlaceOf(this.#file, this.#base.entry(this.#name));
  }

  /** Closes the file, and removes it unless it was kept. */
  discard(): void {
    try {
      this.#file.close();
    } finally {
      this.#base.close();
    }
  }
}

const maxNameBytes = 120;
const maxExtension = 16;

/**
 * `<handle_id>-<basename>`: the name under which a fetched file is kept (D3 "Agent tools"). The basename comes from the payload of the
 * handle, which anybody can write: of it stay letters, digits and `.`, `_`, `-`, no dot in front, and a length that every file system takes.
 */
export function inboxName(handleId: string, payloadPath: unknown): string {
  return `${handleId}-${typeof payloadPath === 'string' ? sanitizedBasename(payloadPath) : unnamed}`;
}

const unnamed = 'file';

function sanitizedBasename(path: string): string {
  const basename = path.slice(path.lastIndexOf('/') + 1).normalize('NFC');
  const plain = basename.replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '_').replace(/^[._-]+/, '');
  return shortened(plain) || unnamed;
}

/** Cuts before the extension, and between two characters. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 ? name.slice(dot) : '';
  const kept = Buffer.byteLength(extension) <= maxExtension ? extension : '';
  let stem = '';
  let room = maxNameBytes - Buffer.byteLength(kept);
  for (const character of name) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    stem += character;
  }
  return `${stem}${kept}`;
}

export interface ReceivedFile {
  readonly bytes: number;
  /** 64 lowercase hex characters. */
  readonly sha256: string;
  readonly generation: number;
}

export type FetchRefusal = {
  readonly kind: 'refused';
  /** The reason for the trace and the model, such as `handle_expired`. */
  readonly code: string;
  readonly message: string;
};

type Reception = { readonly kind: 'received'; readonly file: ReceivedFile } | FetchRefusal;

interface ReceiveSettings {
  /** The accessible workdir, canonical. */
  readonly workdir: string;
  /** Below `peer-in/`. */
  readonly name: string;
  readonly maxBytes: number;
}

/**
 * Takes a peer's answer to a redeem. The file is kept once all of it is there and hashes to what its `etag` says; else nothing is. Rejects
 * when the answer does not end well.
 */
export async function receiveFile(response: IncomingMessage, settings: ReceiveSettings): Promise<Reception> {
  if (response.statusCode !== 200) return await refusalOfPeer(response);
  const facts = decodeFileFacts((name) => singleHeader(response.headers[name]));
  if (facts === null) {
    return refusedFetch('answer_not_valid', 'The peer answered without the etag and generation of a file.');
  }
  // The parser holds a body to the length that it was announced with.
  if (Number(response.headers['content-length'] ?? 0) > settings.maxBytes) return tooLarge(settings);
  try {
    return await store(response, { ...settings, ...facts });
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error;
    return refusedFetch('io_error', `The file cannot be kept in the workdir: ${error.message}.`);
  }
}

async function store(
  response: IncomingMessage,
  { workdir, name, maxBytes, sha256, generation }: ReceiveSettings & Pick<ReceivedFile, 'sha256' | 'generation'>,
): Promise<Reception> {
  const incoming = await onDisk(() => new IncomingFile(workdir, name));
  try {
    const digest = createHash('sha256');
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return tooLarge({ maxBytes });
      digest.update(chunk);
      await onDisk(() => incoming.write(chunk));
    }
    if (digest.digest('hex') !== sha256) {
      return refusedFetch('etag_mismatch', 'The bytes that came are not those that the peer announced.');
    }
    await onDisk(() => incoming.keep());
    return { kind: 'received', file: { bytes, sha256, generation } };
  } finally {
    await onDisk(() => incoming.discard());
  }
}

/** Why the disk does not take the file, as opposed to the connection. */
class StorageFailure extends Error {}

async function onDisk<Value>(action: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await action();
  } catch (error) {
    throw isSystemError(error) ? new StorageFailure(systemReason(error)) : error;
  }
}

const largestRefusalBytes = 4096;

/** Every code of a peer's plane (D3 "Errors"), in words for the model. */
const meanings = new Map(
  Object.entries({
    malformed_handle: 'it takes this for no handle of a version it knows',
    missing_audience: 'the request did not say who asks',
    handle_not_valid:
      'it was shared with another agent, is not whole, or its sender has ended or was started again since',
    handle_expired: 'the handle has expired; ask for a new one',
    no_peer_plane: 'it shares no files with peers',
    not_found: 'the file is no longer there',
    outside_root: 'the file is no longer among those it shares',
    symlink_refused: 'a symbolic link stands where the file was',
    not_a_regular_file: 'what it shared is no longer a file',
    too_large: 'the file is larger than it serves',
    method_not_allowed: 'it serves no files by GET',
    io_error: 'it could not read the file',
  } satisfies Record<Exclude<ResourceRefusalCode, 'no_resource_plane'>, string>),
);

const noToken = 'its listener asks for a bearer token (SVC_LISTENER_TOKEN there), which this tool never sends';

/** In the words of this runtime: only a known code of the peer's own is repeated, in the trace too. */
async function refusalOfPeer(response: IncomingMessage): Promise<FetchRefusal> {
  const status = response.statusCode ?? 0;
  const body = await readUpTo(response, largestRefusalBytes);
  const json = parseJsonText(body?.toString('utf8') ?? '');
  const told = json.kind === 'json' ? decodeRefusal(json.value)?.error : null;
  const meaning = meanings.get(told ?? '');
  if (typeof told === 'string' && meaning !== undefined) return refusedByPeer(status, told, `: ${meaning}`);
  return status === 401
    ? refusedByPeer(status, 'unauthorized', `: ${noToken}`)
    : refusedByPeer(status, `status_${status}`);
}

function refusedByPeer(status: number, code: string, why = ''): FetchRefusal {
  return refusedFetch(code, `The peer answered ${status} ${code}${why}.`);
}

function tooLarge({ maxBytes }: Pick<ReceiveSettings, 'maxBytes'>): FetchRefusal {
  return refusedFetch('file_too_large', `The file is larger than ${maxBytes} bytes, the most that is fetched.`);
}

export function refusedFetch(code: string, message: string): FetchRefusal {
  return { kind: 'refused', code, message };
}
