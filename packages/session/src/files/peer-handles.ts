/** Mints and verifies the handles by which other capsules fetch a file. */

import {
  mintPeerHandle,
  type ParsedPeerHandle,
  type PeerHandlePayload,
  verifyPeerHandle,
} from '@svc/protocol/peer-handle.ts';
import { handleId } from '@svc/kit/diagnostics/handle-id.ts';

interface PeerHandlesOptions {
  /** The minting session's id. */
  readonly issuer: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
}

interface HandleRequest {
  /** Canonical, relative to the peer root. */
  readonly path: string;
  /** `<name>@<host:port>`, lowercased. */
  readonly audience: string;
  readonly ttlMs: number;
}

const keyBytes = 32;
const nonceBytes = 16;

/**
 * The minting key of one session and all that is done with it (D3 "Authentication" 4). The key never leaves this object; nothing is kept of
 * a handle, so one redeems as often as it is presented.
 */
export class PeerHandles {
  readonly #options: PeerHandlesOptions;
  readonly #key: Uint8Array;
  #isOpen = true;

  /** Takes a key of 32 random bytes and owns the array it came in. */
  constructor(options: PeerHandlesOptions) {
    this.#options = options;
    this.#key = options.randomBytes(keyBytes);
  }

  /** The handle expires at a whole millisecond, no later than asked: a fraction would never verify. */
  mint({ path, audience, ttlMs }: HandleRequest): {
    readonly handle: string;
    readonly handleId: string;
    readonly expiresAtMs: number;
  } {
    if (!this.#isOpen) throw new Error('a handle was to be minted after the end of the session');
    const { issuer, now, randomBytes } = this.#options;
    const expiresAtMs = Math.floor(now() + ttlMs);
    const nonce = randomBytes(nonceBytes);
    const handle = mintPeerHandle({ key: this.#key, audience, issuer, path, expiresAtMs, nonce });
    return { handle, handleId: handleId(handle), expiresAtMs };
  }

  /** What this session minted for this audience; undefined for everything else, and for everything once the session has ended. */
  verify(handle: ParsedPeerHandle, audience: string): PeerHandlePayload | undefined {
    return this.#isOpen ? verifyPeerHandle(handle, { key: this.#key, audience }) : undefined;
  }

  /** Whether a verified handle's `exp` is in the past. */
  isExpired({ exp }: PeerHandlePayload): boolean {
    return exp < this.#options.now();
  }

  /** Overwrites the key: all handles die at once. */
  close(): void {
    this.#isOpen = false;
    this.#key.fill(0);
  }
}
