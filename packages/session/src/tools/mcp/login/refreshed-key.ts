/** Has access tokens given for a key that a manifest holds: once, however many requests want one (RFC 6749 §6, docs/boundary.md "Keys that are renewed"). */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { AccessToken, AccessTokens } from '@svc/kit/keys/bound-host.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import { loginFetch } from './login-fetch.ts';
import { type HeardSecrets, ToldSecrets } from './told-secrets.ts';
import { clientShown, endingErrors, keptTokens } from './token-answer.ts';

export interface RefreshedKeySettings extends HeardSecrets {
  /** The name of the credential. */
  readonly credential: string;
  readonly endpoint: URL;
  readonly clientId: string;
  /** Is null for a client that the server does not know by one. */
  readonly clientSecret: Secret | null;
  readonly refreshToken: Secret;
  readonly proxyFor: ProxyFor | null;
  /** The time of the machine, in ms. */
  readonly now: () => number;
  /** Called once if the server gives another refresh token, in place of the one of the manifest. */
  readonly onReplaced: (warning: Diagnostic) => void;
}

/** Holds an access token of which the server does not say how long it does. */
const unsaidMs = 5 * 60_000;
/** Nobody is asked again so soon after a failure. */
const restMs = 5_000;
const shortest = 8;
const maxShown = 300;

interface Held {
  readonly answer: AccessToken;
  readonly untilMs: number;
}

/** The access tokens of one credential, for all that ask with it. */
export class RefreshedKey implements AccessTokens {
  readonly #settings: RefreshedKeySettings;
  #refreshToken: string;
  #held: Held | null = null;
  #asking: Promise<AccessToken> | null = null;
  #isReplaced = false;
  /** The tokens of now, then those of before: an answer may still have one of them. */
  #given: readonly string[] = [];
  readonly #told: ToldSecrets;

  constructor(settings: RefreshedKeySettings) {
    this.#settings = settings;
    this.#refreshToken = settings.refreshToken.reveal();
    this.#told = new ToldSecrets(settings);
  }

  async current(): Promise<AccessToken> {
    if (this.#held !== null && this.#settings.now() < this.#held.untilMs) return this.#held.answer;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return await this.#asking;
  }

  secrets(): readonly string[] {
    const { clientSecret } = this.#settings;
    return clientSecret === null ? this.#given : [...this.#given, clientSecret.reveal()];
  }

  async #ask(): Promise<AccessToken> {
    const { credential, endpoint, now } = this.#settings;
    const untilMs = now() + restMs;
    let isOver = false;
    let why: string;
    try {
      return await this.#renew();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const { OAuthError } = await import('@modelcontextprotocol/client');
      isOver = error instanceof OAuthError && endingErrors.has(error.code);
      // What else the server says could have the key in it.
      if (error instanceof OAuthError) why = `${endpoint.host} refuses to renew it (${this.#shown(error.code)})`;
      else why = error instanceof Diagnostic ? this.#shown(error.message) : `${endpoint.host} gives no token`;
    }
    const answer = { fault: `has no key: that of the credential ${credential} could not be renewed: ${why}` };
    this.#held = { answer, untilMs: isOver ? Infinity : untilMs };
    return answer;
  }

  async #renew(): Promise<AccessToken> {
    const { credential, endpoint, clientId, clientSecret, proxyFor, now } = this.#settings;
    const sdk = await import('@modelcontextprotocol/client');
    const clientInformation = {
      client_id: clientId,
      ...(clientSecret === null ? {} : { client_secret: clientSecret.reveal() }),
    };
    const where = `capabilities.credentials.${credential}.token_endpoint`;
    const refusal = (place: string, why: string): Diagnostic =>
      new Diagnostic('E-RUN-240', `${where} leads to ${place}, ${why}`);
    const given = await sdk.refreshAuthorization(endpoint.origin, {
      metadata: {
        issuer: endpoint.origin,
        authorization_endpoint: endpoint.href,
        token_endpoint: endpoint.href,
        response_types_supported: ['code'],
      },
      clientInformation,
      addClientAuthentication: clientShown(sdk, clientInformation),
      refreshToken: this.#refreshToken,
      fetchFn: loginFetch({ ledBy: { label: where, url: endpoint, address: null, refusal }, proxyFor }),
    });
    const tokens = keptTokens(given, now());
    const { access_token: token, refresh_token: next } = tokens;
    if (token.length < shortest || (next !== null && next.length < shortest))
      throw new Diagnostic(
        'E-RUN-240',
        `it has a token of fewer than ${shortest} characters, which no answer can be searched for`,
      );
    this.#tell(token, next);
    const answer = { token };
    this.#held = { answer, untilMs: tokens.renew_at_ms ?? now() + unsaidMs };
    return answer;
  }

  #tell(token: string, next: string | null): void {
    const { credential, onReplaced } = this.#settings;
    const refreshToken = next ?? this.#refreshToken;
    this.#told.tell([token, refreshToken]);
    this.#given = [...new Set([token, refreshToken, ...this.#given])].slice(0, mostSearched);
    if (refreshToken === this.#refreshToken) return;
    this.#refreshToken = refreshToken;
    if (this.#isReplaced) return;
    this.#isReplaced = true;
    const message = `${this.#settings.endpoint.host} gave another refresh token for the credential ${credential}, which is gone with this session`;
    onReplaced(
      new Diagnostic('W-CAP-033', message, {
        hint: 'ask for a refresh token that stays the same, or give the next session a new one',
      }),
    );
  }

  #shown(text: string): string {
    const secrets = [...this.secrets(), this.#refreshToken];
    const without = secrets.reduce((left, secret) => left.replaceAll(secret, '[secret]'), text);
    return printable(shortened(without, maxShown));
  }
}

/** A capsule may stay up for months. */
const mostSearched = 6;
