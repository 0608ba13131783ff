/** Asks one service over a kept connection of the proxy of programs, which opens its TLS and puts a key in, or tunnels it. */

import { once } from 'node:events';
import { createServer as createListener, connect, type AddressInfo, type Server } from 'node:net';
import { Agent, createServer, request } from 'node:https';
import { connect as secure, type TLSSocket } from 'node:tls';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { boundHost } from '@svc/kit/keys/bound-origin.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { BoundNetwork } from '@svc/sandbox/egress/bound-network.ts';
import { EgressProxy } from '@svc/sandbox/egress/egress-proxy.ts';
import { type SessionAuthority, sessionAuthority } from '@svc/sandbox/egress/session-authority.ts';

const held = 'held.example';
const named = 'named.example';
const answer = 'x'.repeat(1024);

/** Each takes milliseconds a request, as a mean over `count` of them, one after another on one connection. */
export interface KeyRequests {
  /** The key is put into each, and each answer is searched for it. */
  keyed(count: number): Promise<number>;
  tunnelled(count: number): Promise<number>;
  close(): Promise<void>;
}

export async function openKeyRequests(): Promise<KeyRequests> {
  const ofService = authority();
  const ofSession = authority();
  const service = await openService(ofService);
  const { port } = service.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: ofService.pem });
  const key = {
    credential: 'service',
    header: 'authorization',
    scheme: 'bearer',
    user: '',
    secret: new Secret('key-of-the-bench'),
    placeholder: 'placeholder',
    allowsForeign: false,
  } as const;
  const host = boundHost({ origin: `https://${held}`, rules: null, key });
  const bound: BoundNetwork = {
    hosts: (origin) => (origin === host.origin ? host : null),
    gateways: new Map(),
    port: 443,
    covers: [],
    variables: {},
    contextFor: (name) => ofSession.contextFor(name),
    send: (_, options) => request({ ...options, host: '127.0.0.1', port, servername: held, agent }),
  };
  const proxy = new EgressProxy({
    allow: [held, named].map((name) => ({ scheme: 'https', host: name, port: 443 })),
    resolver: { resolve: async () => ({ kind: 'addresses', addresses: ['1.1.1.1'] }) },
    connect: () => connect(port, '127.0.0.1'),
    onDecision: () => {},
    limits: {},
    bound,
  });
  const listener = createListener((socket) => proxy.accept(socket)).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const through = (listener.address() as AddressInfo).port;
  const keyed = await tunnel(through, held, ofSession);
  const tunnelled = await tunnel(through, named, ofService);
  return {
    keyed: (count) => meanMs(keyed, held, count),
    tunnelled: (count) => meanMs(tunnelled, named, count),
    close: async () => {
      keyed.destroy();
      tunnelled.destroy();
      agent.destroy();
      await proxy.close();
      listener.close();
      service.close();
    },
  };
}

function authority(): SessionAuthority {
  const randomBytes = (count: number): Uint8Array => systemClock.randomBytes(count);
  return sessionAuthority({ hosts: [held, named], nowMs: systemClock.now(), randomBytes });
}

/** Answers a kilobyte to those that show the key, and to all at the other name. */
async function openService(own: SessionAuthority): Promise<Server> {
  const SNICallback = (name: string, done: (error: null, context: ReturnType<typeof own.contextFor>) => void): void =>
    done(null, own.contextFor(name));
  const service = createServer({ SNICallback, keepAliveTimeout: 60_000 }, ({ headers }, response) => {
    const isKnown = headers.host === named || headers.authorization === 'Bearer key-of-the-bench';
    response.writeHead(isKnown ? 200 : 403, { 'content-length': answer.length }).end(answer);
  });
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  return service;
}

async function tunnel(port: number, name: string, { pem }: SessionAuthority): Promise<TLSSocket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`CONNECT ${name}:443 HTTP/1.1\r\nHost: ${name}:443\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.toString().startsWith('HTTP/1.1 200')) throw new Error(`the proxy answered ${head.toString()}`);
  const opened = secure({ socket, servername: name, ca: pem });
  await once(opened, 'secureConnect');
  return opened;
}

async function meanMs(socket: TLSSocket, name: string, count: number): Promise<number> {
  const began = performance.now();
  for (let asked = 0; asked < count; asked += 1) {
    socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\n\r\n`);
    let text = '';
    while (!text.endsWith(`\r\n\r\n${answer}`)) {
      const [piece] = (await once(socket, 'data')) as [Buffer];
      text += piece.toString('latin1');
      if (!text.startsWith('HTTP/1.1 200'.slice(0, text.length))) throw new Error(`the service answered ${text}`);
    }
  }
  return (performance.now() - began) / count;
}
