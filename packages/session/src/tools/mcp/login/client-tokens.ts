/** Gets access tokens for a client with a secret of its own, for which no person logs in (RFC 6749 §4.4). */

import type { OAuthTokens } from '@modelcontextprotocol/client';
import { checkerWords } from '@svc/kit/diagnostics/checker-words.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import { NoToken, type ServerTokens } from '../server-requests.ts';
import { loginFetch } from './login-fetch.ts';
import { findOffer, type LoginOffer, refused } from './login-offer.ts';
import { clientShown, keptTokens } from './token-answer.ts';
import { type HeardSecrets, ToldSecrets } from './told-secrets.ts';

export interface ClientTokensSettings extends HeardSecrets {
  readonly server: URL;
  /** The secret goes to this authorization server alone, whichever the server names. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly proxyFor: ProxyFor | null;
  /** The time of the machine, in ms. */
  readonly now: () => number;
}

const maxSaid = 300;

/** A token is kept in this process alone: another one costs one request, and takes nothing from anybody. */
export class ClientTokens implements ServerTokens {
  readonly #settings: ClientTokensSettings;
  readonly #told: ToldSecrets;
  #offer: LoginOffer | null = null;
  #held: { readonly token: string; readonly dueMs: number | null } | null = null;
  #asking: Promise<void> | null = null;

  constructor(settings: ClientTokensSettings) {
    this.#settings = settings;
    this.#told = new ToldSecrets(settings);
  }

  async current(): Promise<string> {
    const isDue = this.#held === null || (this.#held.dueMs !== null && this.#held.dueMs <= this.#settings.now());
    if (isDue) await this.#ask();
    if (this.#held === null) throw new Error('a token was given');
    return this.#held.token;
  }

  async renew(refused: string): Promise<void> {
    if (this.#held?.token === refused) await this.#ask();
  }

  more(scope: string | null): string {
    const asked = scope === null ? 'more' : `the scope ${scope}`;
    return `those who run ${this.#settings.issuer} may give the client ${this.#settings.clientId} ${asked}`;
  }

  async #ask(): Promise<void> {
    this.#asking ??= this.#given().finally(() => {
      this.#asking = null;
    });
    await this.#asking;
  }

  async #given(): Promise<void> {
    const { server, issuer, proxyFor, now } = this.#settings;
    try {
      this.#offer ??= await findOffer(server, { proxyFor }, issuer);
      const { metadata } = this.#offer;
      if (metadata.grant_types_supported?.includes('client_credentials') === false)
        throw refused(new URL(issuer), 'gives no tokens to clients for which no person logs in');
      const { access_token: token, renew_at_ms: dueMs } = keptTokens(await this.#asked(this.#offer), now());
      this.#told.tell([token]);
      this.#held = { token, dueMs };
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      throw new NoToken(`was not asked, since there is no token for it: ${error.message}`);
    }
  }

  async #asked({ resource, metadata, ledBy, scope }: LoginOffer): Promise<OAuthTokens> {
    const { issuer, clientId, clientSecret, proxyFor } = this.#settings;
    const sdk = await import('@modelcontextprotocol/client');
    const client = new sdk.ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: issuer });
    const shown = { client_id: clientId, client_secret: clientSecret };
    Object.assign(client, { addClientAuthentication: clientShown(sdk, shown) });
    try {
      return await sdk.fetchToken(client, issuer, {
        metadata,
        resource: new URL(resource),
        ...(scope === undefined ? {} : { scope }),
        fetchFn: loginFetch({ ledBy, proxyFor }),
      });
    } catch (error) {
      if (error instanceof Diagnostic || !(error instanceof Error)) throw error;
      const said = printable(shortened(checkerWords(error.message) ?? error.message, maxSaid));
      throw refused(new URL(issuer), `gives the client ${clientId} no token: ${said}`);
    }
  }
}
