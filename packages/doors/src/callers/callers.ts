/** Lets clients in by the tokens that they show, and knows who each of them is. */

import type { IncomingHttpHeaders } from 'node:http';

import type { Clock } from '@svc/kit/clock.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { bearerCheck, type BearerCheck, bearerOf } from '@svc/kit/http/hygiene.ts';
import type { AskingChild } from '@svc/session/delegation/delegations-deps.ts';
import {
  childPrincipal,
  onlyPrincipal,
  ownPrincipal,
  personHere,
  type Principal,
  type PrincipalOf,
} from './principal.ts';
import type { KnownTokens } from './known-tokens.ts';
import type { TokenPlace } from './token-place.ts';

/** Who the clients of a listener are, and for how long. */
export interface Callers {
  readonly principalOf: PrincipalOf;
  /** Whether the token that the principal showed is still good. */
  holds(principal: Principal): boolean | Promise<boolean>;
  /** Cuts the stream within 5 seconds of the end of the token that the principal showed, until `release`. */
  hold(principal: Principal, stream: CutStream): void;
  /** Harmless for one that is not held. */
  release(stream: CutStream): void;
}

/** A stream that can be cut off from its reader. */
export interface CutStream {
  cut(): void;
}

/** The callers of a listener that knows one client alone. */
export function onlyCaller(name: string): Callers {
  return { principalOf: onlyPrincipal(name), holds: () => true, hold: () => {}, release: () => {} };
}

interface TokenCallersOptions {
  /** `SVC_LISTENER_TOKEN`. */
  readonly listenerToken: Secret | null;
  /** The key of a session that may ask for approvals; null for every other. */
  readonly personKey: Secret | null;
  /** Whether a request has to show a token although there is no listener token: others reach the listener, and there are door tokens. */
  readonly isGuarded: boolean;
  /** Name of the capsule: a token may be for another one alone. */
  readonly capsule: string;
  readonly place: TokenPlace;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'after'>;
  /** Called once with each token that somebody shows and that is good. */
  readonly onToken: (token: Secret) => void;
  /** Called with a file of tokens that cannot be used, once for each time that it changes. */
  readonly onProblem: (problem: Diagnostic) => void;
}

/** How often tokens of open streams are looked at. */
const sweepMs = 1000;

/**
 * The clients of one capsule. Nothing of door tokens is loaded, and their file is not looked for, before a request shows a token that is not the
 * listener token. Where nothing has to be shown, a token that is shown is held to the file as soon as there is one.
 */
export class TokenCallers implements Callers {
  /** Whether every request has to show a token. */
  readonly asksForToken: boolean;
  readonly #options: TokenCallersOptions;
  readonly #own: Principal;
  readonly #isOperator: BearerCheck | null;
  readonly #isPerson: BearerCheck | null;
  /** A handler is given the very headers that were admitted. */
  readonly #named = new WeakMap<IncomingHttpHeaders, Principal>();
  readonly #streams = new Map<CutStream, Principal>();
  #stopSweep: (() => void) | null = null;
  #known: KnownTokens | null = null;
  #childOf: ((token: Buffer) => AskingChild | null) | null = null;

  constructor(options: TokenCallersOptions) {
    const { listenerToken, personKey, isGuarded } = options;
    this.#options = options;
    this.asksForToken = listenerToken !== null || isGuarded;
    this.#own = ownPrincipal(listenerToken === null ? 'local' : 'operator');
    this.#isOperator = listenerToken === null ? null : bearerCheck(listenerToken);
    this.#isPerson = personKey === null ? null : bearerCheck(personKey);
  }

  readonly principalOf: PrincipalOf = ({ headers }) => this.#named.get(headers) ?? this.#own;

  /** Whether there is a door token with which an approval can be answered. */
  async knowsAnswerer(): Promise<boolean> {
    return (await this.#upToDate()).holdsAny('answer');
  }

  /** The name of clients that show no door token. */
  get ownName(): string {
    return this.#own.name;
  }

  /** From now on lets the children of the session in, to ask for approvals. */
  knowChildren(childOf: (token: Buffer) => AskingChild | null): void {
    this.#childOf = childOf;
  }

  /** Whether a request with these headers goes on. */
  admits(headers: IncomingHttpHeaders): boolean | Promise<boolean> {
    const { authorization } = headers;
    if (this.#isOperator?.(authorization) === true) return true;
    if (this.#isPerson?.(authorization) === true) {
      this.#named.set(headers, personHere);
      return true;
    }
    const token = bearerOf(authorization);
    if (token === undefined) return !this.asksForToken;
    const child = this.#childOf?.(token) ?? null;
    if (child !== null) {
      this.#named.set(headers, childPrincipal(child));
      return true;
    }
    const known = this.#upToDate();
    if (known instanceof Promise) return known.then((settled) => this.#judge(headers, token, settled));
    return this.#judge(headers, token, known);
  }

  holds(principal: Principal): boolean | Promise<boolean> {
    if (principal.seesAll) return true;
    const known = this.#upToDate();
    return known instanceof Promise ? known.then((settled) => settled.holds(principal)) : known.holds(principal);
  }

  hold(principal: Principal, stream: CutStream): void {
    if (principal.seesAll) return;
    this.#streams.set(stream, principal);
    this.#armSweep();
  }

  release(stream: CutStream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    this.#stopSweep?.();
    this.#stopSweep = null;
  }

  #judge(headers: IncomingHttpHeaders, token: Buffer, known: KnownTokens): boolean {
    if (!known.hasFile && !this.asksForToken) return true;
    const principal = known.find(token);
    if (principal === null) return false;
    this.#named.set(headers, principal);
    return true;
  }

  /** The tokens as the file has them now. */
  #upToDate(): KnownTokens | Promise<KnownTokens> {
    const known = this.#known;
    if (known === null) return this.#load();
    const looking = known.look();
    return looking === undefined ? known : looking.then(() => known);
  }

  async #load(): Promise<KnownTokens> {
    const { KnownTokens } = await import('./known-tokens.ts');
    const known = (this.#known ??= new KnownTokens(this.#options));
    await known.look();
    return known;
  }

  #armSweep(): void {
    this.#stopSweep ??= this.#options.clock.after(sweepMs, () => {
      this.#stopSweep = null;
      void this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    const known = await this.#upToDate();
    for (const [stream, principal] of this.#streams) if (!known.holds(principal)) stream.cut();
    if (this.#streams.size > 0) this.#armSweep();
  }
}
