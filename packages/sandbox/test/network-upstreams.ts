import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** Servers of this machine for programs to reach or not to reach. Each answers with its name, or with a file below `root`. */
export class Upstreams {
  readonly granted: HttpServer;
  readonly other: HttpServer;
  readonly secure: HttpsServer;

  private constructor(root: string, key: Buffer, cert: Buffer) {
    this.granted = createHttpServer(answering('granted', root));
    this.other = createHttpServer(answering('other', root));
    this.secure = createHttpsServer({ key, cert }, answering('secure', root));
  }

  /** Writes the certificate that `secure` shows to `certificate.pem` in `root`, which is served. */
  static async open(root: string): Promise<Upstreams> {
    const [key, certificate] = [join(root, 'key.pem'), join(root, 'certificate.pem')];
    const request = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const subject = [
      '-subj',
      '/CN=test',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      certificate,
    ];
    execFileSync('openssl', ['req', ...request, ...subject], { stdio: 'ignore' });
    const upstreams = new Upstreams(root, readFileSync(key), readFileSync(certificate));
    for (const server of upstreams.#all) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    return upstreams;
  }

  close(): void {
    for (const server of this.#all) {
      server.closeAllConnections();
      server.close();
    }
  }

  get #all(): readonly (HttpServer | HttpsServer)[] {
    return [this.granted, this.other, this.secure];
  }
}

export function portOf(server: HttpServer | HttpsServer): number {
  return (server.address() as AddressInfo).port;
}

function answering(name: string, root: string): RequestListener {
  return (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://none');
    const file = join(root, pathname);
    if (pathname === '/') response.end(`${name}\n`);
    else if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) response.end(readFileSync(file));
    else response.writeHead(404).end();
  };
}
