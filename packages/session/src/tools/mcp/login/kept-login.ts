/** Keeps the logins of a user at MCP servers on the web: a file each, which nobody else can read. */

import { fsyncSync, ftruncateSync, readdirSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { shellWord } from '@svc/kit/diagnostics/shell-word.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readOwnFile } from '@svc/kit/files/own-file.ts';
import { replaceFile, syncDirectory, type TemporaryFile, writeTemporary } from '@svc/kit/files/replace-file.ts';
import { realPath } from '@svc/kit/files/resolve-beneath.ts';
import { isTemporaryName } from '@svc/kit/files/temporary-name.ts';
import { namesIfThere, unlessErrno } from '@svc/kit/files/unless-refused.ts';
import { type Guarded, isFlag, isListOf, isObjectOf, isText, isWhole, orNull } from '@svc/kit/guards.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { parseJson } from '@svc/protocol/json-object.ts';

const maxBytes = 256 * 1024;
const leftoverAgeMs = 60 * 60_000;

const isLogin = isObjectOf({
  /** The address of the MCP server. */
  server: isText,
  /** The address from which it answered at the login, by which the places are judged that it names; null behind a proxy. */
  address: orNull(isText),
  /** What the tokens are for, as the server names it (RFC 8707). */
  resource: isText,
  /** Who gave the tokens, and the endpoints that it announced (RFC 8414). */
  issuer: isText,
  endpoints: isObjectOf({
    authorization_endpoint: isText,
    token_endpoint: isText,
    revocation_endpoint: orNull(isText),
    /** How clients show the token endpoint who they are; null where it does not say. */
    methods: orNull(isListOf(isText)),
  }),
  /** `is_given` of one that a person named. */
  client: isObjectOf({ client_id: isText, client_secret: orNull(isText), is_given: isFlag }),
  tokens: isObjectOf({
    access_token: isText,
    /** It is null once nothing can be had for it any more. */
    refresh_token: orNull(isText),
    scope: orNull(isText),
    /** When another access token is wanted; null where the server does not say how long one holds. */
    renew_at_ms: orNull(isWhole),
  }),
  /** The hashes of the folders whose manifests may use it. */
  used_by: isListOf(isText),
});

/** A login. Only the file of it and the process that uses it have its tokens. */
export type KeptLogin = Guarded<typeof isLogin>;

/** Where the login at a server is kept, and whose it has to be; `uid` is undefined on systems that have no users of this kind. */
export interface LoginPlace {
  readonly path: string;
  readonly uid: number | undefined;
}

function folderOf(home: string): string {
  return join(home, '.svc', 'logins');
}

/** `server` is the address of the MCP server. */
export function loginPlace(server: string, home: string, uid: number | undefined): LoginPlace {
  return { path: join(folderOf(home), `${sha256Hex(server).slice(0, 32)}.json`), uid };
}

/** The login that is kept; null without one. `E-RUN-242` for a file that is not of this user alone, or damaged. */
export function readLogin({ path, uid }: LoginPlace): KeptLogin | null {
  const file = readOwnFile(path, { uid, maxBytes });
  if (file.kind === 'absent') return null;
  if (file.kind === 'refused') throw unusable(path, file.what, file.cause);
  const login = parseJson(file.bytes.toString('utf8'));
  if (!isLogin(login)) throw unusable(path, 'holds no login');
  return login;
}

/** All that are kept, by their servers, and why others cannot be used, as sentences. */
export function allLogins(
  home: string,
  uid: number | undefined,
): { readonly logins: readonly KeptLogin[]; readonly faults: readonly string[] } {
  const folder = folderOf(home);
  const logins: KeptLogin[] = [];
  const faults: string[] = [];
  const look = (work: () => void): void => {
    const fault = diagnosticOf(work);
    if (fault !== null) faults.push(fault.message);
  };
  look(() => {
    for (const name of namesIfThere(folder, `cannot read ${folder}`).filter((each) =>
      /^[0-9a-f]{32}\.json$/.test(each),
    ))
      look(() => {
        const login = readLogin({ path: join(folder, name), uid });
        if (login !== null) logins.push(login);
      });
  });
  return { logins: logins.sort((one, other) => (one.server < other.server ? -1 : 1)), faults };
}

/** It is on the disk once this resolves. `E-RUN-240` for one that nobody could read again. */
export async function writeLogin({ path }: LoginPlace, login: KeptLogin): Promise<void> {
  const bytes = bytesOf(login);
  await makeDirectory(dirname(path), 0o700);
  await replaceFile(path, [bytes], { mode: 0o600 });
}

function bytesOf(login: KeptLogin): Buffer {
  const bytes = Buffer.from(`${JSON.stringify(login)}\n`);
  if (bytes.length <= maxBytes) return bytes;
  throw new Diagnostic('E-RUN-240', `the login at ${login.server} would take more than ${maxBytes / 1024} KiB`, {
    hint: `svc logout ${shellWord(login.server)} forgets which folders use it; then log in again`,
  });
}

/**
 * Room on the disk for new tokens of a login, since the old ones hold no longer once these are given. `E-IO-001` on a full disk. The caller has the
 * guard of the login, and closes the room.
 */
export async function roomFor({ path }: LoginPlace): Promise<TemporaryFile> {
  try {
    sweepLeftovers(dirname(path));
  } catch (error) {
    throw ioFault(error, `cannot write to ${dirname(path)}`);
  }
  return await writeTemporary(dirname(path), [Buffer.alloc(maxBytes, ' ')], { mode: 0o600 });
}

/** Writes a login into its room, which is on the disk once this resolves. `E-IO-001` where it was refused all the same. */
export async function writeInto(room: TemporaryFile, { path }: LoginPlace, login: KeptLogin): Promise<void> {
  const bytes = bytesOf(login);
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(room.fd, bytes, at, bytes.length - at, at);
    ftruncateSync(room.fd, bytes.length);
    fsyncSync(room.fd);
    room.keepAs(path);
    await syncDirectory(dirname(path));
  } catch (error) {
    throw ioFault(error, `cannot write ${path}`);
  }
}

/** Removes what writers killed more than an hour ago left, with tokens in it. Ages follow the clock of the folder, in which a guard was made just now. */
function sweepLeftovers(folder: string): void {
  const { mtimeMs: nowMs } = statSync(folder);
  for (const name of readdirSync(folder).filter(isTemporaryName)) {
    const path = join(folder, name);
    const { mtimeMs = nowMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (nowMs - mtimeMs > leftoverAgeMs) unlessErrno(['ENOENT'], () => unlinkSync(path), undefined);
  }
}

/** Removes a login whose tokens count no more, as nobody could keep those that took their place. */
export function forgetLogin({ path }: LoginPlace): void {
  unlessErrno(['ENOENT'], () => unlinkSync(path), undefined);
}

interface RemovedLogin {
  /** As it was at the end; null for a file that could not be used. */
  readonly login: KeptLogin | null;
  /** Why it could not; null where it could. */
  readonly fault: string | null;
}

/** Takes a login from the disk, with the tokens that it has by then: a session may renew it at the same time. Returns null if there is no login. */
export async function removeLogin(place: LoginPlace): Promise<RemovedLogin | null> {
  const read = (): RemovedLogin => {
    try {
      return { login: readLogin(place), fault: null };
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      return { login: null, fault: error.message };
    }
  };
  const isThere = ({ login, fault }: RemovedLogin): boolean => login !== null || fault !== null;
  // Without its folder there is no guard.
  if (!isThere(read())) return null;
  return await withGuard(place.path, async () => {
    const removed = read();
    try {
      unlessErrno(['ENOENT'], () => unlinkSync(place.path), undefined);
      sweepLeftovers(dirname(place.path));
    } catch (error) {
      throw ioFault(error, `cannot remove ${place.path}`);
    }
    return await Promise.resolve(isThere(removed) ? removed : null);
  });
}

/** Whether nothing can be had with it any more. */
export function isOver({ tokens }: KeptLogin, nowMs: number): boolean {
  return tokens.refresh_token === null && tokens.renew_at_ms !== null && tokens.renew_at_ms <= nowMs;
}

/** The name under which a login knows the folder of a manifest. */
export function userOf(manifestDirectory: string): string {
  return sha256Hex(realPath(manifestDirectory));
}

/** A login that the manifest of this folder may use; with null, any that holds. Throws `E-RUN-241` for a missing one, one that is over, and one for other folders. */
export function usableLogin(
  place: LoginPlace,
  server: string,
  { folder, nowMs }: { readonly folder: string | null; readonly nowMs: number },
): KeptLogin {
  const login = readLogin(place);
  if (login === null) throw noLogin(`there is no login at ${server}`, server);
  if (isOver(login, nowMs)) throw noLogin(`the login at ${server} is over`, server);
  if (folder !== null && !login.used_by.includes(userOf(folder)))
    throw noLogin(`the login at ${server} is not for the manifest in ${folder}`, server);
  return login;
}

function noLogin(message: string, server: string): Diagnostic {
  return new Diagnostic('E-RUN-241', message, { hint: `run svc login ${shellWord(server)} beside the manifest` });
}

function unusable(path: string, what: string, cause?: unknown): Diagnostic {
  return new Diagnostic('E-RUN-242', `${path} ${what}`, {
    cause,
    hint: 'see who made it so; then chmod 600 it, or remove it and log in again',
  });
}
