import { createServer, type AddressInfo, type Server } from 'node:net';

import { onTestFinished } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import { RegistrySource } from '../../src/store/sources/registry-source.ts';

export const echo = { name: 'echo', version: '1.0.0' };
export const key = 'a-key-that-is-secret';

/** A client of the registry at an address, with the key unless a test has none. */
export function client(url: string, { timeoutMs = 30_000, keyed = true } = {}): RegistrySource {
  const address = { url, key: keyed ? new Secret(key) : null, keyName: 'REGISTRY_API_KEY' };
  return new RegistrySource(address, new HttpClient({ timeoutMs }));
}

/** What a promise is refused with, or that it is not. */
export async function refusalOf(promise: Promise<unknown>): Promise<Diagnostic | 'stored'> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error === null) return 'stored';
  if (error instanceof Diagnostic) return error;
  throw error;
}

/** Answers every connection with these bytes, whatever it is asked, and closes it. */
export async function rawServer(head: string, body: Buffer): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([Buffer.from(head), body])));
  });
  onTestFinished(() => void server.close());
  return await listening(server);
}

/** Its port, once it listens. */
export async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
