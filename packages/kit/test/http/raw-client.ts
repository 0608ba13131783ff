import { connect, type Socket } from 'node:net';

export interface RawResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly head: string;
  readonly body: string;
}

export interface RawExchange {
  readonly port: number;
  /** Pieces written one after another, each once the system has taken the one before. */
  readonly bytes: readonly (string | Buffer)[];
  /** Closes the sending side once everything is written. */
  readonly halfClose?: boolean;
}

/** Writes bytes to 127.0.0.1 and reads until the server closes. A reset ends the text like a close. */
export function exchange({ port, bytes, halfClose = false }: RawExchange): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    for (const piece of bytes)
      if (piece.length > 0) socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
    if (halfClose) socket.end();
  });
}

export interface Asked {
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
}

/** One request with `connection: close`, `host` and, with a body, `content-length` added; and its response. */
export async function ask(port: number, requestLine: string, { headers = [], body }: Asked = {}): Promise<RawResponse> {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const lines = [requestLine, `Host: 127.0.0.1:${port}`, 'Connection: close', ...length, ...headers, '', ''];
  return parseResponse(await exchange({ port, bytes: [lines.join('\r\n'), body ?? ''] }));
}

export function parseResponse(text: string): RawResponse {
  const split = text.indexOf('\r\n\r\n');
  const head = split === -1 ? text : text.slice(0, split);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(statusLine.split(' ')[1]), headers, head, body: split === -1 ? '' : text.slice(split + 4) };
}

/** Resolves once what the socket has received contains `text`; rejects when it closes before. */
export function received(socket: Socket, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = '';
    socket.on('data', (chunk) => {
      seen += chunk.toString('latin1');
      if (seen.includes(text)) resolve(seen);
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(seen)}`)));
  });
}
