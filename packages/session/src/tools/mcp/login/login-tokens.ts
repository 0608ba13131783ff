/** Gives a server on the web the access tokens of a login, and has them renewed: once, however many calls and processes want it. */

import { checkerWords } from '@svc/kit/diagnostics/checker-words.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { shellWord } from '@svc/kit/diagnostics/shell-word.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import type { TemporaryFile } from '@svc/kit/files/replace-file.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import { NoToken, type ServerTokens } from '../server-requests.ts';
import {
  forgetLogin,
  type KeptLogin,
  type LoginPlace,
  readLogin,
  roomFor,
  writeInto,
  writeLogin,
} from './kept-login.ts';
import { type HeardSecrets, ToldSecrets } from './told-secrets.ts';
import { clientOf, clientShown, ended, endingErrors, keptTokens, ledByServer, metadataOf } from './token-answer.ts';

export interface LoginTokensSettings extends HeardSecrets {
  readonly place: LoginPlace;
  readonly login: KeptLogin;
  readonly proxyFor: ProxyFor | null;
  /** The time of the machine, in ms. */
  readonly now: () => number;
}

/** The login is read again, under its guard, before it is renewed: another process may have done it. */
export class LoginTokens implements ServerTokens {
  readonly #settings: LoginTokensSettings;
  #login: KeptLogin;
  #renewing: Promise<void> | null = null;
  readonly #told: ToldSecrets;

  constructor(settings: LoginTokensSettings) {
    this.#settings = settings;
    this.#login = settings.login;
    this.#told = new ToldSecrets(settings);
    this.#tell();
  }

  async current(): Promise<string> {
    const { access_token: token, renew_at_ms: due } = this.#login.tokens;
    if (due !== null && due <= this.#settings.now()) await this.renew(token);
    return this.#login.tokens.access_token;
  }

  async renew(refused: string): Promise<void> {
    if (this.#login.tokens.access_token !== refused) return;
    this.#renewing ??= this.#renew(refused).finally(() => {
      this.#renewing = null;
    });
    await this.#renewing;
  }

  more(scope: string | null): string {
    const asked = scope === null ? '' : ` --scope ${shellWord(scope)}`;
    return `svc login ${shellWord(this.#login.server)}${asked} may help`;
  }

  async #renew(refused: string): Promise<void> {
    const { place } = this.#settings;
    try {
      await withGuard(place.path, async () => {
        const kept = readLogin(place);
        if (kept === null) throw this.#over('it was removed');
        this.#login = kept.tokens.access_token === refused ? await this.#renewed(kept) : kept;
        this.#tell();
      });
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      throw new NoToken(`was not asked, since its login could not be renewed: ${error.message}`);
    }
  }

  /**
   * It is on the disk before anybody uses it: what it was made of counts no more. After a kill before that, `svc` shows the old token once more. A mark in
   * the file would not say whether that token still counts, and many servers keep an old one, or forgive it for a while: their logins would be lost as well.
   */
  async #renewed(kept: KeptLogin): Promise<KeptLogin> {
    const { place } = this.#settings;
    const { refresh_token: refreshToken } = kept.tokens;
    if (refreshToken === null) {
      await writeLogin(place, ended(kept));
      throw this.#over('its token has expired, and cannot be renewed');
    }
    const room = await roomFor(place);
    try {
      const next = { ...kept, tokens: await this.#given(kept, refreshToken) };
      await this.#write(room, next);
      return next;
    } finally {
      room.close();
    }
  }

  async #given(kept: KeptLogin, refreshToken: string): Promise<KeptLogin['tokens']> {
    const { place, proxyFor, now } = this.#settings;
    const [sdk, { loginFetch }] = await Promise.all([
      import('@modelcontextprotocol/client'),
      import('./login-fetch.ts'),
    ]);
    const fetchFn = loginFetch({ ledBy: ledByServer(new URL(kept.server), kept.address), proxyFor });
    try {
      const given = await sdk.refreshAuthorization(kept.issuer, {
        metadata: metadataOf(kept),
        clientInformation: clientOf(kept),
        addClientAuthentication: clientShown(sdk, clientOf(kept)),
        refreshToken,
        resource: kept.resource,
        fetchFn,
      });
      return keptTokens(given, now(), kept.tokens);
    } catch (error) {
      if (error instanceof Diagnostic || !(error instanceof Error)) throw error;
      const said = printable(shortened(checkerWords(error.message) ?? error.message, maxShown));
      if (error instanceof sdk.OAuthError && endingErrors.has(error.code)) {
        await writeLogin(place, ended(kept));
        throw this.#over(`${new URL(kept.issuer).host} refuses to renew it (${printable(error.code)}: ${said})`);
      }
      throw new Diagnostic('E-RUN-240', `${new URL(kept.issuer).host} gives no token: ${said}`);
    }
  }

  /** The old tokens would be taken for stolen ones: where the new ones cannot be kept, nobody has any. */
  async #write(room: TemporaryFile, next: KeptLogin): Promise<void> {
    const { place } = this.#settings;
    try {
      await writeInto(room, place, next);
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      forgetLogin(place);
      throw this.#over(`its new tokens were lost: ${error.message}`);
    }
  }

  #tell(): void {
    const { access_token: access, refresh_token: refresh } = this.#login.tokens;
    this.#told.tell([access, refresh, this.#login.client.client_secret]);
  }

  #over(why: string): Error {
    return new NoToken(
      `was not asked, since its login is over: ${why}; run svc login ${shellWord(this.#login.server)}`,
    );
  }
}

const maxShown = 300;
