/** An MCP server that wants a login, and a person who gives it one. */
import { startAuthorization } from '@modelcontextprotocol/client';

import type { KeptLogin } from '@svc/session/tools/mcp/login/kept-login.ts';
import { AuthorizationServer } from './authorization-server.ts';
import { RemoteMcpServer } from './remote-server.ts';
import { clientFor, findCodeOffer, takeLogin } from '../../packages/svc/src/artifacts/login/oauth-flow.ts';
import type { SvcProcess } from './svc-process.ts';

const address = /^http:\/\/127\.0\.0\.1:\d+\/authorize\?.*$/m;

export class ProtectedServer {
  readonly remote: RemoteMcpServer;
  readonly issuer: AuthorizationServer;

  static async start(): Promise<ProtectedServer> {
    return new ProtectedServer(await RemoteMcpServer.start(), await AuthorizationServer.start());
  }

  private constructor(remote: RemoteMcpServer, issuer: AuthorizationServer) {
    this.remote = remote;
    this.issuer = issuer;
    remote.ways.protection = { issuer: issuer.issuer, isKnown: (token) => issuer.isKnown(token) };
  }

  /** The address that `svc login` prints. */
  async asked(login: SvcProcess): Promise<string> {
    return (await login.complained(address))[0];
  }

  /** Where the browser of a person lands who says yes. */
  async landed(asked: string): Promise<string> {
    return (await fetch(asked, { redirect: 'manual' })).headers.get('location') ?? '';
  }

  /** Logs in as `svc login` asks. Returns the page that the browser shows then. */
  async sayYes(login: SvcProcess): Promise<string> {
    const back = await fetch(await this.landed(await this.asked(login)));
    return await back.text();
  }

  /** A login as `svc login` gets one, without starting it. */
  async login(): Promise<Omit<KeptLogin, 'used_by'>> {
    const redirect = 'http://127.0.0.1:1/callback';
    const asking = { proxyFor: null };
    const offer = await findCodeOffer(new URL(this.remote.url), asking);
    const { scope, resource, metadata } = offer;
    const client = await clientFor(offer, { redirect, scope, given: null, document: null }, asking);
    const { authorizationUrl, codeVerifier: verifier } = await startAuthorization(metadata.issuer, {
      metadata,
      clientInformation: { client_id: client.client_id },
      redirectUrl: redirect,
      ...(scope === undefined ? {} : { scope }),
      resource,
    });
    const given = new URL(await this.landed(authorizationUrl.href)).searchParams;
    return await takeLogin(offer, { client, redirect, verifier }, { given, nowMs: Date.now(), asking });
  }

  close(): void {
    this.remote.close();
    this.issuer.close();
  }
}
