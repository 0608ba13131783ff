import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { Secret } from '../../src/diagnostics/secret.ts';
import { type OpenBody, openReply } from '../../src/http/open-body.ts';
import { kitRefusal } from '../../src/http/refusal.ts';
import { HttpServer } from '../../src/http/server.ts';
import type { HttpServerOptions } from '../../src/http/server-options.ts';

const opened: { readonly server: HttpServer; readonly sockets: Socket[] }[] = [];
afterEach(async () => {
  for (const { server, sockets } of opened.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await server.close(0);
  }
});

interface Opened {
  /** Sends a request; what comes back, once the server has closed. */
  readonly ask: (request: string) => Promise<string>;
  readonly connect: () => Socket;
  readonly bugs: unknown[];
  readonly abandoned: () => number;
}

async function open(make: (body: OpenBody) => Promise<void>, more: Partial<HttpServerOptions> = {}): Promise<Opened> {
  const bugs: unknown[] = [];
  let abandoned = 0;
  const onBug = (error: unknown): void => void bugs.push(error);
  const reply = openReply({
    contentType: 'text/plain',
    headers: { 'x-more': 'yes' },
    make,
    onBug,
    abandon: () => (abandoned += 1),
  });
  const server = new HttpServer({
    routes: [{ method: 'GET', path: '/', body: 'unread', handle: () => reply }],
    token: null,
    onBug,
    ...more,
  });
  const bound = await server.bind({ address: '127.0.0.1', port: 0 });
  const port = bound.kind === 'bound' ? bound.port : 0;
  const sockets: Socket[] = [];
  opened.push({ server, sockets });
  const connected = (): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
    return socket;
  };
  const ask = async (request: string): Promise<string> => {
    const socket = connected();
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    socket.write(request);
    await once(socket, 'close');
    return received;
  };
  return { ask, connect: connected, bugs, abandoned: () => abandoned };
}

const get = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

describe('an open body', () => {
  it('becomes whole once it has been put', async () => {
    const { ask } = await open(async (body) => {
      await body.put('one ');
      await body.put(Buffer.from('two'));
    });
    expect(await ask(get)).toMatch(
      /^HTTP\/1\.1 200 OK\r\nx-more: yes\r\ncontent-type: text\/plain\r\nconnection: close\r\n[^]*\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n$/,
    );
  });

  it('breaks off where something is missing, and the server learns why', async () => {
    const { ask, bugs } = await open(async (body) => {
      await body.put('one');
      throw new Error('lost');
    });
    expect(await ask(get)).toMatch(/\r\n\r\n(?:3\r\none\r\n)?$/);
    expect(bugs).toEqual([new Error('lost')]);
  });

  it('waits for a reader that takes nothing, and hears that it has gone', async () => {
    let [puts, isOver] = [0, false];
    const piece = Buffer.alloc(1024 * 1024);
    const { connect: connected, bugs } = await open(async (body) => {
      while (await body.put(piece)) puts += 1;
      isOver = body.gone.aborted;
    });
    const socket = connected();
    socket.pause();
    socket.write(get);
    await expect.poll(() => puts).toBeGreaterThan(0);
    let before = -1;
    await expect.poll(() => puts === before || ((before = puts), false), { interval: 200 }).toBe(true);
    // As much as lies in the buffers of a connection, and no more.
    expect(puts).toBeLessThan(32);
    socket.destroy();
    await expect.poll(() => isOver).toBe(true);
    expect(bugs).toEqual([]);
  });

  it('does not exist for a client that wants its head alone', async () => {
    let isMade = false;
    const { ask, abandoned } = await open(async () => {
      isMade = await Promise.resolve(true);
    });
    expect(await ask('HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n$/);
    expect([isMade, abandoned()]).toEqual([false, 1]);
  });
});

describe('a server that admits by itself', () => {
  it('looks at nothing of what it does not admit', async () => {
    let wrong = 0;
    const { ask } = await open(async (body) => void (await body.put('in')), {
      token: new Secret('right'),
      anyHost: true,
      admit: ({ headers }) => (headers['x-pass'] === 'yes' ? undefined : kitRefusal('page_refused', 'No.')),
      onWrongToken: () => (wrong += 1),
    });
    const asked = async (...headers: string[]): Promise<string> =>
      (await ask(['GET / HTTP/1.1', 'Host: x', 'Connection: close', ...headers, '', ''].join('\r\n'))).slice(9, 12);
    expect(await asked('authorization: Bearer right')).toBe('403');
    expect(await asked('authorization: Bearer wrong')).toBe('403');
    expect(wrong).toBe(0);
    expect(await asked('x-pass: yes')).toBe('401');
    expect(wrong).toBe(0);
    expect(await asked('x-pass: yes', 'authorization: Bearer wrong')).toBe('401');
    expect(wrong).toBe(1);
    expect(await asked('x-pass: yes', 'authorization: Bearer right')).toBe('200');
  });

  it('closes connections beyond those that it may have', async () => {
    const { connect: connected } = await open(async () => {}, { maxConnections: 2 });
    const [first, second] = [connected(), connected()];
    await Promise.all([once(first, 'connect'), once(second, 'connect')]);
    const third = connected();
    await once(third, 'close');
    expect([first.destroyed, second.destroyed]).toEqual([false, false]);
  });
});
