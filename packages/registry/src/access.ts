/** Says who may do what in a registry: looks up the key that a request shows, and which names it is for. */

import { createHash, timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { bearerOf } from '@svc/kit/http/hygiene.ts';
import { HttpRefusal, kitRefusal } from '@svc/kit/http/refusal.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { readKeysFile, type RegistryKey } from './keys-file.ts';
import { everyName, noName } from './name-patterns.ts';
import { pagesPrefix } from './paths.ts';

/** The caller, and what it may do. */
export type Caller = Pick<RegistryKey, 'read' | 'publish' | 'state'> & {
  /** The id of the key; null for who shows none. */
  readonly id: string | null;
};

const anonymous: Caller = { id: null, read: everyName, publish: noName, state: noName };

/** The id of the one key in the environment. No key of a file can have it. */
const ownerId = 'REGISTRY_API_KEY';

export interface AccessSettings {
  /** The key for everything; null where there are only those of the file. */
  readonly key: Secret | null;
  /** A file with more keys. */
  readonly keysFile?: string | null;
  /** Lets everybody read who shows no key. */
  readonly anonymousRead?: boolean;
  readonly onFault: (fault: Diagnostic) => void;
}

/** How often the file of the keys is looked at. */
const lookMs = 1_000;

const pageChallenge = { 'www-authenticate': 'Basic realm="svc-registry", charset="UTF-8"' };

/** Who may do what. The file of the keys is read again when it changes; one that cannot be used is reported and changes nothing. */
export class Access {
  readonly #owner: Buffer | null;
  readonly #anonymousRead: boolean;
  readonly #file: KeysFile | null;
  readonly #callers = new WeakMap<IncomingHttpHeaders, Caller>();

  /** `E-REG-021` when the file cannot be used. */
  constructor({ key, keysFile = null, anonymousRead = false, onFault }: AccessSettings) {
    this.#owner = key === null ? null : digest(Buffer.from(key.reveal(), 'utf8'));
    this.#anonymousRead = anonymousRead;
    this.#file = keysFile === null ? null : new KeysFile(keysFile, onFault);
  }

  /** The refusal of a request that shows no key, a wrong one or one that has expired; undefined for any other, whose caller is known then. */
  admit({
    method = '',
    url = '',
    headers,
  }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): HttpRefusal | undefined {
    const isPage = url.startsWith(pagesPrefix);
    const caller = this.#lookUp(method, headers, isPage ? pageKeyOf : bearerOf);
    if (caller === null) {
      return isPage
        ? kitRefusal('unauthorized', 'The key is wanted as the password, under any name.', pageChallenge)
        : kitRefusal('unauthorized', 'A valid bearer token is required.', { 'www-authenticate': 'Bearer' });
    }
    this.#callers.set(headers, caller);
    return undefined;
  }

  /** Who sent an admitted request. */
  callerOf(headers: IncomingHttpHeaders): Caller {
    const caller = this.#callers.get(headers);
    if (caller === undefined) throw new Error('the request was not admitted');
    return caller;
  }

  /** The id for the log; null where the request was refused, or has no key of the file. */
  idOf(headers: IncomingHttpHeaders): string | null {
    const id = this.#callers.get(headers)?.id ?? null;
    return id === ownerId ? null : id;
  }

  #lookUp(
    method: string,
    { authorization }: IncomingHttpHeaders,
    keyOf: (authorization: string) => Buffer | undefined,
  ): Caller | null {
    if (authorization === undefined) {
      return this.#anonymousRead && (method === 'GET' || method === 'HEAD') ? anonymous : null;
    }
    const presented = keyOf(authorization);
    if (presented === undefined) return null;
    const hash = digest(presented);
    const keys = this.#file?.current() ?? [];
    // It compares every key, so that the time does not show which one it is.
    let found: RegistryKey | null = null;
    for (const key of keys) if (timingSafeEqual(hash, Buffer.from(key.sha256, 'hex'))) found = key;
    const isOwner = this.#owner !== null && timingSafeEqual(hash, this.#owner);
    if (isOwner) return { id: ownerId, read: everyName, publish: everyName, state: everyName };
    return found === null || systemClock.now() >= found.expiresMs ? null : found;
  }
}

/** A browser asks its user for a name, which does not matter here, and a password: that is the key. */
function pageKeyOf(authorization: string): Buffer | undefined {
  const encoded = /^basic +([\w+/]+={0,2})$/i.exec(authorization)?.[1];
  if (encoded === undefined) return bearerOf(authorization);
  const pair = Buffer.from(encoded, 'base64');
  const colon = pair.indexOf(':');
  return colon === -1 ? undefined : pair.subarray(colon + 1);
}

/** A file of keys as it was when it could last be used. */
class KeysFile {
  readonly #path: string;
  readonly #onFault: (fault: Diagnostic) => void;
  #keys: readonly RegistryKey[];
  #seen: string;
  #lookedAtMs: number;

  constructor(path: string, onFault: (fault: Diagnostic) => void) {
    this.#path = path;
    this.#onFault = onFault;
    this.#lookedAtMs = systemClock.monotonicMs();
    this.#seen = identityOf(path);
    this.#keys = readKeysFile(path);
  }

  current(): readonly RegistryKey[] {
    const now = systemClock.monotonicMs();
    if (now - this.#lookedAtMs < lookMs) return this.#keys;
    this.#lookedAtMs = now;
    const identity = identityOf(this.#path);
    if (identity === this.#seen) return this.#keys;
    this.#seen = identity;
    try {
      this.#keys = readKeysFile(this.#path);
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      this.#onFault(
        new Diagnostic('E-REG-021', `${error.message}; the keys of before stay in force`, { hint: error.hint ?? '' }),
      );
    }
    return this.#keys;
  }
}

/** Changes whenever the file is written or replaced. */
function identityOf(path: string): string {
  const found = unlessRefused(() => statSync(path, { bigint: true }), null);
  return found === null ? '' : [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ');
}

/** Hashed, any two keys have the same length. */
function digest(key: Buffer): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The answer to a key that is right and not for this; `what` is a clause such as `publish echo`. */
export function forbidden({ id }: Caller, what: string): HttpRefusal {
  return new HttpRefusal(403, 'forbidden', `The key ${id ?? ''} may not ${what}.`);
}
