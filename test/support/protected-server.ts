/** An MCP server that wants a login, and a person who gives it one. */
import { AuthorizationServer } from './authorization-server.ts';
import { RemoteMcpServer } from './remote-server.ts';
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

  close(): void {
    this.remote.close();
    this.issuer.close();
  }
}
