import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpErrorCode, HeadAnswer, RemoteAnswers } from '../../src/outbound/remote-messages.ts';
import type { OutboundHttp } from '../../src/outbound/outbound-http.ts';

/** A server on a loopback address that counts connections and reports which host each request named. */
export class CountingServer {
  connections = 0;
  readonly hosts: (string | undefined)[] = [];
  /** Whether a connection serves one request only. */
  closesEach = false;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.hosts.push(request.headers.host);
      if (this.closesEach) response.setHeader('connection', 'close');
      response.end('fine');
    });
    this.#server.on('connection', () => {
      this.connections += 1;
    });
  }

  static async open(address = '127.0.0.1'): Promise<CountingServer> {
    const counting = new CountingServer();
    counting.#server.listen(0, address);
    await once(counting.#server, 'listening');
    return counting;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** The status of a response that was read to its end, or the reason why none came. */
export async function get(http: OutboundHttp, url: string): Promise<number | HttpErrorCode> {
  const [scheme = '', authority = ''] = url.split('://');
  const opened = (await http.answer({
    operation: 'open',
    head: {
      method: 'GET',
      scheme,
      authority,
      pathWithQuery: '/',
      headers: [],
      connectTimeoutMs: null,
      firstByteTimeoutMs: null,
      betweenBytesTimeoutMs: null,
    },
    body: { bytes: new Uint8Array(0), finished: true },
  })) as RemoteAnswers['open'];
  if (opened.kind === 'refused') return opened.error;
  const { exchange } = opened;
  await http.answer({ operation: 'wait', waits: [{ exchange, event: 'head' }], timeoutMs: null, takes: false });
  const head = (await http.answer({ operation: 'head', exchange })) as HeadAnswer;
  if (head.kind === 'pending') throw new Error('a head that was waited for is there');
  if (head.kind === 'failed') return head.error;
  for (let piece = await http.answer({ operation: 'read', exchange, wait: true }); isBytes(piece);) {
    piece = await http.answer({ operation: 'read', exchange, wait: true });
  }
  await http.answer({ operation: 'close', exchange });
  return head.status;
}

function isBytes(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'kind' in answer && answer.kind === 'bytes';
}
