/** Decides which requests reach the viewer's server at all, before their token and their body are looked at. */

import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { isForeignPage, isLoopbackHost, singleHeader } from '@svc/kit/http/hygiene.ts';
import { busy, type HttpRefusal, kitRefusal } from '@svc/kit/http/refusal.ts';

/** Limit for requests with the token, and for those without it, of all connections. A page asks for a body when a row of it is chosen. */
const maxEachSecond = 500;
const httpPort = 80;
/** So many different wrong tokens are somebody who guesses; a page of an earlier server asks with the same one again and again. */
const maxWrongTokens = 5;

interface DoorsOptions {
  /** The key of the browser that `--open` starts; null where none is started. */
  readonly openKey: Secret | null;
  /** Called when that browser has come. */
  readonly onOpened: () => void;
  /** Milliseconds that only rise. */
  readonly nowMs: () => number;
  /** Called once, when too many wrong tokens have come. */
  readonly onGuessed: () => void;
}

/**
 * Stops a page of elsewhere, a name that leads here and a program that floods. A request is for a loopback name with this very port,
 * of no page or of one that this server gave (docs/adr/terminal-and-viewer.md "A page for one browser or a file"). One navigation of a file of this machine
 * may bring the key of `--open`, once.
 */
export class Doors {
  readonly #options: DoorsOptions;
  #port = 0;
  #openKey: Secret | null;
  readonly #wrongTokens = new Set<string>();
  #second = 0;
  #inSecond = { known: 0, unknown: 0 };

  constructor(options: DoorsOptions) {
    this.#options = options;
    this.#openKey = options.openKey;
  }

  /** The port that was bound, which requests have to name. */
  set port(port: number) {
    this.#port = port;
  }

  /** Why a request is refused; undefined where it may go on. `hasToken` says that it shows the right one. */
  admit(
    { headers, method, url = '' }: Pick<IncomingMessage, 'headers' | 'method' | 'url'>,
    hasToken = false,
  ): HttpRefusal | undefined {
    const { host, origin } = headers;
    if (host === undefined || !isLoopbackHost(host) || portOf(host) !== this.#port) {
      return kitRefusal(
        'host_refused',
        'This address answers to localhost and loopback addresses with its own port only.',
      );
    }
    if (origin !== undefined && origin !== `http://${host.toLowerCase()}`) return foreign();
    if (isForeignPage(headers)) {
      const isNavigation = singleHeader(headers['sec-fetch-mode']) === 'navigate';
      const isWindow = singleHeader(headers['sec-fetch-dest']) === 'document';
      if (method !== 'GET' || !isNavigation || !isWindow || !this.#isOpening(url)) return foreign();
    }
    // Requests of foreign pages are not counted: they could keep the server from its own page.
    return this.#isTooMuch(hasToken ? 'known' : 'unknown') ? busy() : undefined;
  }

  /** Counts what was shown instead of the token, once whatever it is. */
  wrongToken(shown: string): void {
    if (this.#wrongTokens.size >= maxWrongTokens || this.#wrongTokens.has(shown)) return;
    this.#wrongTokens.add(shown);
    if (this.#wrongTokens.size === maxWrongTokens) this.#options.onGuessed();
  }

  /** Takes the same time whatever the key is; a right one is good once. */
  #isOpening(target: string): boolean {
    const expected = this.#openKey;
    const [, shown] = /^\/\?open=([A-Za-z0-9_-]{1,64})$/.exec(target) ?? [];
    if (expected === null || shown === undefined) return false;
    const [own, other] = [Buffer.from(expected.reveal()), Buffer.from(shown)];
    if (own.length !== other.length || !timingSafeEqual(own, other)) return false;
    this.#openKey = null;
    this.#options.onOpened();
    return true;
  }

  #isTooMuch(who: 'known' | 'unknown'): boolean {
    const second = Math.floor(this.#options.nowMs() / 1000);
    if (second !== this.#second) this.#inSecond = { known: 0, unknown: 0 };
    this.#second = second;
    this.#inSecond[who] += 1;
    return this.#inSecond[who] > maxEachSecond;
  }
}

function foreign(): HttpRefusal {
  return kitRefusal('page_refused', 'Requests of other web pages are not taken.');
}

function portOf(host: string): number {
  const [, port] = /:(\d{1,5})$/.exec(host) ?? [];
  return port === undefined ? httpPort : Number(port);
}
