import { request as httpRequest } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isCoded } from '../diagnostics/system-reason.ts';
import type { Proxy } from './proxy.ts';
import { networkReason } from './network-reason.ts';

/** A TLS connection to the host of `url` through a proxy, which sees nothing of what goes over it. Throws as the proxy fails. */
export async function openTunnel(url: URL, proxy: Proxy, signal: AbortSignal): Promise<TLSSocket> {
  const target = `${url.hostname}:${url.port === '' ? '443' : url.port}`;
  const socket = await askProxy(target, proxy, signal);
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  return connect({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}) });
}

async function askProxy(target: string, { host, port, authorization }: Proxy, signal: AbortSignal): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const headers = { host: target, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) };
    const request = httpRequest({ method: 'CONNECT', host, port, path: target, headers, signal, agent: false });
    request.on('error', (error) => {
      if (signal.aborted || !isCoded(error)) reject(error);
      else reject(new Diagnostic('E-IO-003', `the proxy ${host}:${port}: ${networkReason(error)}`, { cause: error }));
    });
    request.once('connect', ({ statusCode = 0 }, socket: Socket) => {
      if (statusCode === 200) {
        resolve(socket);
        return;
      }
      socket.destroy();
      const hint =
        statusCode === 407 ? 'put user and password of the proxy into its address' : 'ask who runs the proxy';
      const message = `the proxy ${host}:${port} does not connect to ${target} (${statusCode})`;
      reject(new Diagnostic('E-IO-003', message, { hint }));
    });
    request.end();
  });
}
