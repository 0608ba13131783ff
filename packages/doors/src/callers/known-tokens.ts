/** Knows the door tokens of a user, and notices when their file changes. */

import { createHash, timingSafeEqual } from 'node:crypto';

import type { Clock } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Principal } from './principal.ts';
import type { DoorToken } from './door-token.ts';
import { readTokens, tokenFileState } from './token-file.ts';
import type { Scope } from './scopes.ts';
import type { TokenPlace } from './token-place.ts';

interface KnownTokensOptions {
  readonly capsule: string;
  readonly place: TokenPlace;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'after'>;
  readonly onToken: (token: Secret) => void;
  readonly onProblem: (problem: Diagnostic) => void;
}

interface KnownToken {
  readonly hash: Buffer;
  readonly expiresAtMs: number;
  readonly principal: Principal;
}

/** The shortest time between two reads of a file that changes all the time. A request that shows a token waits. */
const minBetweenReadsMs = 50;

/** The tokens that one capsule accepts. */
export class KnownTokens {
  readonly #options: KnownTokensOptions;
  readonly #told = new Set<string>();
  #tokens: readonly KnownToken[] = [];
  /** State of the file when it was read; undefined before. */
  #state: string | null | undefined = undefined;
  #readAtMs = -Infinity;
  #hasFile = false;
  #waiting: Promise<void> | null = null;

  constructor(options: KnownTokensOptions) {
    this.#options = options;
  }

  /** Whether there is a file of tokens, or was one since the first look: a client that showed a token then must show one later too. */
  get hasFile(): boolean {
    return this.#hasFile;
  }

  /** Reads the file if it has changed. When it resolves, or returns undefined, every token that was removed before is known to be removed. */
  look(): Promise<void> | undefined {
    const { place, clock } = this.#options;
    if (this.#waiting !== null) return this.#waiting;
    const state = tokenFileState(place);
    if (state === this.#state) return undefined;
    const waitMs = this.#readAtMs + minBetweenReadsMs - clock.monotonicMs();
    if (waitMs <= 0) {
      this.#read(state);
      return undefined;
    }
    this.#waiting = new Promise((resolve) => {
      clock.after(waitMs, () => {
        this.#waiting = null;
        this.#read(tokenFileState(place));
        resolve();
      });
    });
    return this.#waiting;
  }

  /** Returns who shows this token; null if the token is unknown, has expired or is for another capsule. Compares it with all tokens, so that the time shows nothing. */
  find(token: Buffer): Principal | null {
    const presented = createHash('sha256').update(token).digest();
    let found: KnownToken | null = null;
    for (const known of this.#tokens) if (timingSafeEqual(known.hash, presented)) found = known;
    if (found === null || this.#hasExpired(found)) return null;
    const name = found.hash.toString('hex');
    if (!this.#told.has(name)) {
      this.#told.add(name);
      this.#options.onToken(new Secret(token.toString()));
    }
    return found.principal;
  }

  /** Returns whether the token of a principal from `find` is still there, with the same scopes. */
  holds(principal: Principal): boolean {
    const known = this.#tokens.find((token) => token.principal === principal);
    return known !== undefined && !this.#hasExpired(known);
  }

  /** Whether a token with this scope is good now. */
  holdsAny(scope: Scope): boolean {
    return this.#tokens.some((token) => token.principal.scopes.includes(scope) && !this.#hasExpired(token));
  }

  #hasExpired({ expiresAtMs }: KnownToken): boolean {
    return expiresAtMs <= this.#options.clock.now();
  }

  #read(state: string | null): void {
    const { place, clock, onProblem } = this.#options;
    this.#state = state;
    this.#readAtMs = clock.monotonicMs();
    this.#hasFile ||= state !== null;
    try {
      this.#tokens = this.#known(readTokens(place) ?? []);
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      this.#tokens = [];
      onProblem(error);
    }
  }

  /** A token that did not change keeps its principal. */
  #known(tokens: readonly DoorToken[]): readonly KnownToken[] {
    const before = new Map(this.#tokens.map((known) => [known.hash.toString('hex'), known]));
    return tokens
      .filter(({ capsule }) => capsule === null || capsule === this.#options.capsule)
      .map(({ name, sha256, scopes, expires_at_ms: expiresAtMs }) => {
        const known = before.get(sha256)?.principal;
        const isSame = known?.name === `token:${name}` && scopes.join() === known.scopes.join();
        const principal = isSame ? known : { name: `token:${name}`, seesAll: false, scopes };
        return { hash: Buffer.from(sha256, 'hex'), expiresAtMs, principal };
      });
  }
}
