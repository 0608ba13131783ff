/** Answers what is no HTTP request, and ends the connection that it came on. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const malformedAnswers: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** What Node does where nobody listens: an answer, unless another one has begun, and the end of the connection. */
export function refuseMalformed(
  { code = '' }: NodeJS.ErrnoException,
  connection: Duplex,
  current?: ServerResponse,
): void {
  const hasBegun = current !== undefined && current.socket !== null && current.headersSent;
  const status = malformedAnswers[code] ?? '400 Bad Request';
  if (connection.writable && !hasBegun) connection.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  connection.destroy();
}

/** There is no way through this server to another. */
export function refuseTunnel(_request: IncomingMessage, socket: Duplex): void {
  // A client that resets this connection ends what was about to end.
  socket.on('error', () => socket.destroy());
  socket.end('HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
}
