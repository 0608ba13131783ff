/** Finds the proxy that the environment names, and opens connections through it. */

import { request as httpRequest } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';

import { decodePercent } from '@svc/protocol/strict-utf8.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import type { Environment } from '../environment.ts';
import { isNetworkError, networkReason } from './network-reason.ts';

/** A proxy that carries TLS connections. */
export interface Proxy {
  readonly host: string;
  readonly port: number;
  /** For its `proxy-authorization` header; null when it asks for nothing. */
  readonly authorization: string | null;
}

const loopback = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The proxy that the environment names for an address: `HTTPS_PROXY`, else `ALL_PROXY`, in either case, unless `NO_PROXY` has the host. Null
 * for none, and for `http`: such an address is this machine's. `E-REG-006` for a proxy that is no `http` address, or whose user or password cannot be
 * read.
 */
export function proxyFor(url: URL, env: Environment): Proxy | null {
  if (url.protocol !== 'https:' || loopback.test(url.hostname) || isExempt(url, valueOf(env, 'NO_PROXY'))) return null;
  const [name, text] = [
    ['HTTPS_PROXY', valueOf(env, 'HTTPS_PROXY')] as const,
    ['ALL_PROXY', valueOf(env, 'ALL_PROXY')] as const,
  ].find(([, value]) => value !== '') ?? ['', ''];
  return text === '' ? null : parseProxy(text, name);
}

function valueOf(env: Environment, name: string): string {
  return env[name.toLowerCase()] || env[name] || '';
}

function parseProxy(text: string, name: string): Proxy {
  const written = text.includes('://') ? text : `http://${text}`;
  const proxy = URL.canParse(written) ? new URL(written) : null;
  if (proxy === null || proxy.protocol !== 'http:' || proxy.hostname === '') {
    // Not repeated: it may hold a password.
    throw new Diagnostic('E-REG-006', `${name} is no proxy that svc can use`, {
      hint: 'write http://<host>:<port>; what goes through it is encrypted all the same',
    });
  }
  const { username, password } = proxy;
  const credentials = `${unescaped(username, name)}:${unescaped(password, name)}`;
  return {
    host: proxy.hostname.replaceAll(/^\[|\]$/g, ''),
    port: proxy.port === '' ? 80 : Number(proxy.port),
    authorization: username === '' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

function unescaped(text: string, name: string): string {
  const decoded = decodePercent(text);
  if (decoded !== null) return decoded;
  throw new Diagnostic(
    'E-REG-006',
    `${name} is no proxy that svc can use: its user or password has a % that stands for no character`,
    { hint: 'write %25 for a % that is part of the user or the password' },
  );
}

/** An entry is a host and all below it, with or without a dot in front, and may have a port; `*` is everything. */
function isExempt({ hostname, port }: URL, list: string): boolean {
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    const [, name = '', wantedPort = ''] = /^(?:\*?\.)?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    if (name === '' || (wantedPort !== '' && wantedPort !== (port === '' ? '443' : port))) return false;
    return hostname === name || hostname.endsWith(`.${name}`);
  });
}

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
      if (signal.aborted || !isNetworkError(error)) reject(error);
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
