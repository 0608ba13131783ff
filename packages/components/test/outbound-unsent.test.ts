// What of a request the session keeps for a server that has answered and takes nothing more.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

import { expect, it, onTestFinished } from 'vitest';

import { OutboundHttp } from '../src/outbound/outbound-http.ts';
import type { RemoteAnswers } from '../src/outbound/remote-messages.ts';

const megabyte = 1024 * 1024;
/** More than the two buffers of a connection hold. */
const maxTaken = 48;

interface Deaf {
  readonly port: number;
  /** Sends one more byte of the body, or its end. */
  say(piece: 'byte' | 'end'): void;
}

/** Answers a request once its head is there, and reads nothing more of it. */
async function deafServer(): Promise<Deaf> {
  let connection: Socket | null = null;
  const server = createServer((socket) => {
    connection = socket;
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    connection?.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    say: (piece) => void connection?.write(piece === 'byte' ? '1\r\nx\r\n' : '0\r\n\r\n'),
  };
}

async function openTo(port: number): Promise<{ readonly http: OutboundHttp; readonly exchange: number }> {
  const http = new OutboundHttp({ grants: { mayReach: () => true, endpointOrigin: `http://127.0.0.1:${port}` } });
  onTestFinished(() => http.close());
  const opened = (await http.answer({
    operation: 'open',
    head: {
      method: 'POST',
      scheme: 'http',
      authority: `127.0.0.1:${port}`,
      pathWithQuery: '/',
      headers: [],
      connectTimeoutMs: null,
      firstByteTimeoutMs: null,
      betweenBytesTimeoutMs: null,
    },
    body: { bytes: new Uint8Array(0), finished: false },
  })) as RemoteAnswers['open'];
  if (opened.kind === 'refused') throw new Error(`it is permitted: ${opened.error.tag}`);
  await http.answer({
    operation: 'wait',
    waits: [{ exchange: opened.exchange, event: 'head' }],
    timeoutMs: null,
    takes: false,
  });
  return { http, exchange: opened.exchange };
}

async function answered(http: OutboundHttp, exchange: number): Promise<void> {
  await http.answer({ operation: 'wait', waits: [{ exchange, event: 'body' }], timeoutMs: null, takes: false });
}

it('OutboundHttp waits with a body whose server takes nothing, however often it answers', async () => {
  const server = await deafServer();
  const { http, exchange } = await openTo(server.port);
  const seen = { taken: 0, isWaiting: false };
  const write = async (): Promise<void> => {
    seen.isWaiting = true;
    await http.answer({ operation: 'write', exchange, bytes: new Uint8Array(megabyte) });
    seen.taken += 1;
    seen.isWaiting = false;
  };
  while (!seen.isWaiting && seen.taken <= maxTaken) {
    void write();
    server.say('byte');
    await answered(http, exchange);
    await http.answer({ operation: 'read', exchange, wait: true });
    await new Promise((resolve) => void setImmediate(resolve));
  }
  expect(seen.taken).toBeLessThanOrEqual(maxTaken);
});

it('OutboundHttp fails a body that waits for a server whose answer has ended', async () => {
  const server = await deafServer();
  const { http, exchange } = await openTo(server.port);
  server.say('end');
  let answer: unknown = { kind: 'accepted' };
  for (let taken = 0; taken <= maxTaken && isAccepted(answer); taken += 1) {
    answer = await http.answer({ operation: 'write', exchange, bytes: new Uint8Array(megabyte) });
  }
  expect(answer).toEqual({ kind: 'failed', error: { tag: 'connection-write-timeout' } });
});

function isAccepted(answer: unknown): boolean {
  return (answer as RemoteAnswers['write']).kind === 'accepted';
}
