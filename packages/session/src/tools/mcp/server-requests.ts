/** Sends the requests to an MCP server on the web: what each shows, and which of them are sent once more. */

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';

import { bearerFields } from '@svc/kit/http/challenges.ts';
import { type Connections, responseOf } from '@svc/kit/net/connections.ts';
import { isCoded } from '@svc/kit/diagnostics/system-reason.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { headerOf, redirectWords, shownText, waitMsOf } from './http-words.ts';
import type { ProtocolSdk } from './server-connection.ts';

const maxRefusalBytes = 64 * 1024;
const maxRedirects = 3;
const largestHead = 32 * 1024;
const maxRepeated = 2;

/** Why there is no token to show, as a clause after the name of the server. */
export class NoToken extends Error {}

/** The access tokens of a login. */
export interface ServerTokens {
  /** The one to show now. Rejects with `NoToken`. */
  current(): Promise<string>;
  /** Has another one take the place of this one, which the server refused. Rejects with `NoToken`. */
  renew(refused: string): Promise<void>;
  /** What to do about a login that the server wants more of: `scope` is what it names, null where it names nothing. */
  more(scope: string | null): string;
}

/** Hears of each request once its answer is over, and of one whose host may not be where its name leads. */
export interface ServerTraffic {
  readonly onTraffic: (exchange: { readonly url: URL; readonly bytesIn: number; readonly bytesOut: number }) => void;
  readonly onRefused: (url: URL, rule?: string, isMetadata?: boolean) => void;
}

interface RequestSettings {
  readonly connections: Connections;
  readonly sdk: Pick<ProtocolSdk, 'SdkHttpError' | 'SdkErrorCode'>;
  readonly tokens?: ServerTokens;
  readonly traffic?: ServerTraffic;
}

export interface ServerRequest {
  readonly url: URL;
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** How often a request was sent again, by why. */
interface Repeats {
  readonly redirects: number;
  readonly waits: number;
  readonly renewals: number;
}

/** Requests to one server. Nothing is sent again but what was not carried out: a redirect, a refused token, or what was asked too often. */
export class ServerRequests {
  readonly #settings: RequestSettings;

  constructor(settings: RequestSettings) {
    this.#settings = settings;
  }

  /** The answer, whose status is that of a success. Rejects with an `SdkHttpError` for any other, and with the error of the connection. */
  async send(request: ServerRequest): Promise<IncomingMessage> {
    return await this.#send(request, { redirects: 0, waits: 0, renewals: 0 });
  }

  async #send(request: ServerRequest, repeats: Repeats): Promise<IncomingMessage> {
    const { url, signal } = request;
    const { tokens } = this.#settings;
    const token = tokens === undefined ? null : await tokens.current();
    const response = await this.#exchange(request, token);
    const { statusCode: status = 0 } = response;
    if (status >= 200 && status < 300) return response;
    const { location } = response.headers;
    if ((status === 307 || status === 308) && location !== undefined) {
      const target = URL.canParse(location, url.href) ? new URL(location, url) : null;
      if (target !== null && target.origin === url.origin && repeats.redirects < maxRedirects) {
        response.destroy();
        return await this.#send({ ...request, url: target }, { ...repeats, redirects: repeats.redirects + 1 });
      }
    }
    if (status === 401 && tokens !== undefined && token !== null && repeats.renewals === 0) {
      response.destroy();
      await tokens.renew(token);
      return await this.#send(request, { ...repeats, renewals: 1 });
    }
    const waitMs = repeats.waits < maxRepeated ? waitMsOf(response) : null;
    if (waitMs !== null) {
      response.destroy();
      await after(waitMs, undefined, { signal });
      return await this.#send(request, { ...repeats, waits: repeats.waits + 1 });
    }
    throw await this.#refusal(response, url);
  }

  async #exchange(
    { url, method, headers, body, signal }: ServerRequest,
    token: string | null,
  ): Promise<IncomingMessage> {
    const options: RequestOptions = {
      method,
      headers: {
        ...headers,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        'content-length': Buffer.byteLength(body),
      },
      signal,
      maxHeaderSize: largestHead,
    };
    const { connections, traffic } = this.#settings;
    const asking = connections.send(url, options);
    if (traffic !== undefined) follow(asking, url, traffic);
    const arriving = responseOf(asking);
    asking.end(body);
    return await arriving;
  }

  async #refusal(response: IncomingMessage, url: URL): Promise<Error> {
    const { statusCode: status = 0, statusMessage: statusText = '', headers } = response;
    const { tokens, sdk } = this.#settings;
    const text = (await readUpTo(response, maxRefusalBytes).catch(() => undefined))?.toString('utf8') ?? '';
    response.destroy();
    const { location } = headers;
    const where = status >= 300 && status < 400 && location !== undefined ? redirectWords(location, url) : null;
    const said = text.trim() === '' ? '' : `: ${shownText(text)}`;
    const more =
      tokens !== undefined && (status === 401 || status === 403) ? `; ${tokens.more(wantedScope(response))}` : '';
    const { SdkHttpError, SdkErrorCode } = sdk;
    const shown = { status, statusText, text };
    const happened = where ?? `answered with status ${status}${said}${more}`;
    return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, happened, shown);
  }
}

/** Counts what goes over the connection from the request to the end of its answer; a connection has one request at a time. */
function follow(asking: ClientRequest, url: URL, { onTraffic, onRefused }: ServerTraffic): void {
  asking.once('socket', (socket) => {
    const before = passedOver(socket);
    asking.once('close', () => {
      const now = passedOver(socket);
      const [bytesIn, bytesOut] = [now.bytesIn - before.bytesIn, now.bytesOut - before.bytesOut];
      if (bytesIn + bytesOut > 0) onTraffic({ url, bytesIn, bytesOut });
    });
  });
  asking.once('error', (error) => {
    if (!isCoded(error) || error.code !== 'ERR_ADDRESS_PROHIBITED') return;
    onRefused(url, undefined, 'isMetadata' in error && error.isMetadata === true);
  });
}

/** Node knows no number for a connection that was never made. */
function passedOver({ bytesRead, bytesWritten }: Socket): { readonly bytesIn: number; readonly bytesOut: number } {
  return { bytesIn: bytesRead || 0, bytesOut: bytesWritten || 0 };
}

/** The scope that a refusal asks for (RFC 6750 §3), in characters that a scope may have; null without one. */
function wantedScope(response: IncomingMessage): string | null {
  const scope = bearerFields(headerOf(response, 'www-authenticate') ?? '').get('scope') ?? '';
  return /^[\x21\x23-\x5b\x5d-\x7e ]{1,300}$/.test(scope) ? scope : null;
}
