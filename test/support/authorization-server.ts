/** An authorization server (OAuth 2.1) that says yes to everybody, and each of whose rules a test can break. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Grant {
  readonly scope: string | null;
  readonly resource: string | null;
  isUsed: boolean;
}

interface Rules {
  /** Over what the metadata says; undefined takes a key out. */
  metadata: Readonly<Record<string, unknown>>;
  /** The `iss` at the end of a login; null without one. */
  iss: string | null | undefined;
  /** How long an access token holds, in seconds; null where nothing is said of it. */
  expiresIn: number | null;
  /** Answers in place of the server; false leaves it to that. */
  instead: (request: IncomingMessage, response: ServerResponse, path: string) => boolean;
  /** The secrets of clients for which no person logs in, by their ids. */
  clients: Readonly<Record<string, string>>;
  /** Hears of each request for a token before the answer. */
  onToken: (form: Readonly<Record<string, string>>) => void;
}

/** What was asked of it, and the tokens that hold. */
export class AuthorizationServer {
  readonly rules: Rules = {
    metadata: {},
    iss: undefined,
    expiresIn: 3600,
    instead: () => false,
    clients: {},
    onToken: () => {},
  };
  readonly paths: string[] = [];
  readonly registered: Record<string, unknown>[] = [];
  readonly authorized: Record<string, string>[] = [];
  readonly tokenRequests: Record<string, string>[] = [];
  readonly revoked: Record<string, string>[] = [];
  /** Refresh tokens that came a second time. */
  reused = 0;
  /** The access token that it gave last. */
  lastGiven = '';
  readonly #codes = new Map<string, Record<string, string>>();
  readonly #access = new Set<string>();
  readonly #refresh = new Map<string, Grant>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async start(): Promise<AuthorizationServer> {
    const made = new AuthorizationServer();
    made.#server.listen(0, '127.0.0.1');
    await once(made.#server, 'listening');
    return made;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get refreshes(): number {
    return this.tokenRequests.filter(({ grant_type: type }) => type === 'refresh_token').length;
  }

  /** What it says of itself (RFC 8414). */
  metadata(): object {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      registration_endpoint: `${this.issuer}/register`,
      revocation_endpoint: `${this.issuer}/revoke`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      scopes_supported: ['tools', 'offline_access'],
      authorization_response_iss_parameter_supported: true,
      ...this.rules.metadata,
    };
  }

  /** A refresh token that holds, as if somebody had logged in. */
  refreshToken(): string {
    const token = `refresh-${randomBytes(12).toString('hex')}`;
    this.#refresh.set(token, { scope: null, resource: null, isUsed: false });
    return token;
  }

  isKnown(token: string): boolean {
    return this.#access.has(token);
  }

  /** No access token holds any more. */
  expire(): void {
    this.#access.clear();
  }

  /** Nor does a refresh token. */
  forget(): void {
    this.expire();
    this.#refresh.clear();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const body = Buffer.concat(pieces).toString();
    const url = new URL(request.url ?? '/', this.issuer);
    this.paths.push(url.pathname);
    if (this.rules.instead(request, response, url.pathname)) return;
    const json = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const form = Object.fromEntries(new URLSearchParams(body));
    switch (url.pathname) {
      case '/.well-known/oauth-authorization-server':
        return json(200, this.metadata());
      case '/register': {
        const asked = JSON.parse(body) as Record<string, unknown>;
        this.registered.push(asked);
        return json(201, { ...asked, client_id: `registered-${this.registered.length}` });
      }
      case '/authorize':
        return this.#authorize(Object.fromEntries(url.searchParams), response);
      case '/token':
        Object.assign(form, shownIn(request));
        this.tokenRequests.push(form);
        this.rules.onToken(form);
        return this.#token(form, json);
      case '/revoke':
        this.revoked.push(form);
        return json(200, {});
      default:
        return json(404, { error: 'not_found' });
    }
  }

  #authorize(asked: Record<string, string>, response: ServerResponse): void {
    this.authorized.push(asked);
    const code = randomBytes(16).toString('hex');
    this.#codes.set(code, asked);
    const to = new URL(asked['redirect_uri'] ?? '');
    to.searchParams.set('code', code);
    to.searchParams.set('state', asked['state'] ?? '');
    const { iss = this.issuer } = this.rules;
    if (iss !== null) to.searchParams.set('iss', iss);
    response.writeHead(302, { location: to.href }).end();
  }

  #token(form: Record<string, string>, json: (status: number, value: unknown) => void): void {
    if (form['grant_type'] === 'authorization_code') {
      const asked = this.#codes.get(form['code'] ?? '');
      this.#codes.delete(form['code'] ?? '');
      const challenge = createHash('sha256')
        .update(form['code_verifier'] ?? '')
        .digest('base64url');
      const isOurs = asked?.['code_challenge'] === challenge && asked['redirect_uri'] === form['redirect_uri'];
      if (!isOurs) return json(400, { error: 'invalid_grant' });
      return json(200, this.#given({ scope: asked['scope'] ?? null, resource: asked['resource'] ?? null }));
    }
    if (form['grant_type'] === 'client_credentials') {
      const { [form['client_id'] ?? '']: secret } = this.rules.clients;
      if (secret === undefined || secret !== form['client_secret']) return json(401, { error: 'invalid_client' });
      const { refresh_token: _, ...given } = this.#given({
        scope: form['scope'] ?? null,
        resource: form['resource'] ?? null,
      });
      return json(200, given);
    }
    const known = this.#refresh.get(form['refresh_token'] ?? '');
    if (known?.isUsed === true) this.reused += 1;
    if (known === undefined || known.isUsed) {
      return json(400, { error: 'invalid_grant', error_description: 'the refresh token does not hold' });
    }
    known.isUsed = true;
    return json(200, this.#given(known));
  }

  #given({ scope, resource }: Omit<Grant, 'isUsed'>): Record<string, unknown> {
    const access = `access-${randomBytes(12).toString('hex')}`;
    const refresh = `refresh-${randomBytes(12).toString('hex')}`;
    this.#access.add(access);
    this.lastGiven = access;
    this.#refresh.set(refresh, { scope, resource, isUsed: false });
    const { expiresIn } = this.rules;
    return {
      access_token: access,
      refresh_token: refresh,
      token_type: 'Bearer',
      ...(scope === null ? {} : { scope }),
      ...(expiresIn === null ? {} : { expires_in: expiresIn }),
    };
  }
}

/** The id and the secret of a client in a header (RFC 6749 §2.3.1). */
function shownIn({ headers: { authorization = '' } }: IncomingMessage): Record<string, string> {
  const [, basic] = /^Basic (.+)$/.exec(authorization) ?? [];
  if (basic === undefined) return {};
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':').map(decoded);
  return { client_id: id, client_secret: secret };
}

function decoded(text: string): string {
  return new URLSearchParams(`x=${text}`).get('x') ?? '';
}
