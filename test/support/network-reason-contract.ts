/** Tests what promises to say in plain words why a network failed. */

import { once } from 'node:events';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

import { expect, it, onTestFinished } from 'vitest';

import { hasProgram } from '../containment/use-capsule.ts';
import { certify, shown } from './certify.ts';
import { closedPort } from './closed-port.ts';

/** What each says in the same words, unless it has terms of its own. */
const reasons = {
  'a closed port': /nothing listens there/,
  'a host that nobody knows': /no host has that name|its name cannot be looked up now/,
  'a reset connection': /the connection was closed before everything had gone over it/,
  'a connection closed without an answer': /the connection was closed before everything had gone over it/,
  silence: /no answer within 0\.3 s/,
  'another protocol': /what it answers is not HTTP \(HPE_/,
  'a server without TLS': /it does not speak TLS at this address/,
  'a certificate that nobody vouches for': /its certificate cannot be verified \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
};

type Situation = keyof typeof reasons;

const lines: Readonly<Partial<Record<Situation, (socket: Socket) => void>>> = {
  'a reset connection': (socket) => void socket.once('data', () => socket.resetAndDestroy()),
  'a connection closed without an answer': (socket) => void socket.once('data', () => socket.end()),
  silence: (socket) => void socket.resume(),
  'another protocol': (socket) => void socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.6\r\n')),
};

export interface NetworkUser {
  /** Sends one request, with so much time for the answer unless it says otherwise, and resolves with what is said of why none came. */
  readonly ask: (url: URL, answerMs: number) => Promise<string>;
  /** Its own terms; null for a situation that it cannot get into. */
  readonly says?: Readonly<Partial<Record<Situation, RegExp | null>>>;
}

/** What every report of a failed connection promises: the same reason for the same fault, with real sockets. */
export function networkReasonContract(name: string, { ask, says = {} }: NetworkUser): void {
  for (const [key, words] of Object.entries(reasons)) {
    const situation = key as Situation;
    const expected = says[situation] === undefined ? words : says[situation];
    if (expected === null) continue;
    it(`${name} reports ${situation}`, async (context) => {
      const isCertificate = situation === 'a certificate that nobody vouches for';
      context.skip(isCertificate && !hasProgram('openssl'), 'needs openssl');
      // Whatever is no silence comes, on a busy machine too.
      const answerMs = situation === 'silence' ? 300 : 20_000;
      expect(await ask(await urlOf(situation), answerMs)).toMatch(expected);
    });
  }
}

async function urlOf(situation: Situation): Promise<URL> {
  switch (situation) {
    case 'a closed port':
      return new URL(`http://127.0.0.1:${await closedPort()}`);
    case 'a host that nobody knows':
      return new URL('http://no-such-host.invalid:8080');
    case 'a server without TLS':
      return new URL(
        `https://127.0.0.1:${await listening(createServer((socket) => speak(socket, 'HTTP/1.1 400 x\r\n\r\n')))}`,
      );
    case 'a certificate that nobody vouches for':
      return new URL(`https://127.0.0.1:${await listening(createSecureServer(shown(certify('localhost'))))}`);
    default:
      return new URL(`http://127.0.0.1:${await listening(createServer(lines[situation]))}`);
  }
}

function speak(socket: Socket, text: string): void {
  socket.once('data', () => socket.end(text));
}

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => socket.destroy())));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
