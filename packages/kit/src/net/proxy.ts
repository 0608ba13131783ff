/** Finds the proxy that the environment names, and opens connections through it. */

import { request as httpRequest } from 'node:http';
import { BlockList, connect as connectTo, isIP, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';

import { decodePercent } from '@svc/protocol/strict-utf8.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isCoded } from '../diagnostics/system-reason.ts';
import type { Environment } from '../environment.ts';
import { classifyAddress } from './address-class.ts';
import { isNetworkError, networkReason } from './network-reason.ts';

/** A proxy that connects to hosts and passes plain requests on. */
export interface Proxy {
  readonly host: string;
  readonly port: number;
  /** For its `proxy-authorization` header; null when it asks for nothing. */
  readonly authorization: string | null;
}

/** The proxy that a request goes through; null for one that goes straight. */
export type ProxyFor = (url: URL) => Proxy | null;

const ownNames = /^(.*\.)?localhost\.?$/;
const variables = { 'https:': 'HTTPS_PROXY', 'http:': 'HTTP_PROXY' } as const;

/**
 * The proxy that the environment names for an address: `HTTPS_PROXY` or `HTTP_PROXY` by its scheme, else `ALL_PROXY`, in either case, unless `NO_PROXY`
 * has the host. Returns null if it names none, and for this machine. `E-REG-006` for a proxy that is no `http` address, or whose user or password cannot be
 * read.
 */
export function proxyFor(url: URL, env: Environment): Proxy | null {
  const { protocol, hostname } = url;
  if (protocol !== 'https:' && protocol !== 'http:') return null;
  if (isThisMachine(hostname) || isExempt(url, valueOf(env, 'NO_PROXY'))) return null;
  const own = variables[protocol];
  const [name, text] = [own, 'ALL_PROXY']
    .map((each) => [each, valueOf(env, each)] as const)
    .find(([, value]) => value !== '') ?? ['', ''];
  return text === '' ? null : parseProxy(text, name);
}

function isThisMachine(hostname: string): boolean {
  return ownNames.test(hostname) || classifyAddress(bare(hostname)) === 'loopback';
}

/** An address as the system spells it. */
export function bare(hostname: string): string {
  return hostname.replaceAll(/^\[|\]$/g, '');
}

/** `host:port` for a person, without user and password. */
export function shownProxy({ host, port }: Proxy): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
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

/**
 * An entry is a host and all below it, with or without a dot in front, and may have a port; or addresses: one, a range from one to another, or those
 * of a prefix (`10.0.0.0/8`). `*` is everything.
 */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const ownPort = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    if (isIP(bare(hostname)) !== 0 && holdsAddress(entry, bare(hostname))) return true;
    const [, name = '', wantedPort = ''] = /^(?:\*?\.)?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    if (name === '' || (wantedPort !== '' && wantedPort !== ownPort)) return false;
    return hostname === name || hostname.endsWith(`.${name}`);
  });
}

const manyAddresses = /^([\d.]+|[\da-f:.]+)(?:\/(\d{1,3})|-([\da-f:.]+))?$/i;

function holdsAddress(entry: string, address: string): boolean {
  const [, first = '', bits, last = first] = manyAddresses.exec(entry) ?? [];
  const family = isIP(first) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(first) === 0 || isIP(first) !== isIP(last)) return false;
  const list = new BlockList();
  try {
    if (bits === undefined) list.addRange(first, last, family);
    else list.addSubnet(first, Number(bits), family);
  } catch (error) {
    // A prefix that is too long, or a range that ends before it begins, has no address.
    if (!isCoded(error)) throw error;
    return false;
  }
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** A TLS connection to the host of `url` through a proxy, which sees nothing of what goes over it. Throws as the proxy fails. */
export async function openTunnel(url: URL, proxy: Proxy, signal: AbortSignal): Promise<TLSSocket> {
  const target = `${url.hostname}:${url.port === '' ? '443' : url.port}`;
  const socket = await connectThrough(target, proxy, { signal });
  const host = bare(url.hostname);
  return connect({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}) });
}

interface TunnelSettings {
  readonly signal: AbortSignal;
  /** Whether the end of one direction leaves the other open. */
  readonly allowHalfOpen?: boolean;
}

/** For a proxy to be reached and to connect. Less than any request waits for its connection, so that a failure names the proxy. */
const connectMs = 10_000;

/** A connection to `target`, `host:port`, that the proxy makes. Rejects with `E-IO-003` for a proxy that does not, or not within 10 s. */
export async function connectThrough(
  target: string,
  proxy: Proxy,
  { signal, allowHalfOpen = false }: TunnelSettings,
): Promise<Socket> {
  const { host, port, authorization } = proxy;
  return await new Promise((resolve, reject) => {
    const headers = { host: target, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) };
    const createConnection = (): Socket => connectTo({ host, port, allowHalfOpen, noDelay: true });
    const request = httpRequest({ method: 'CONNECT', host, port, path: target, headers, signal, createConnection });
    const silent = Object.assign(new Error('the proxy is silent'), { code: 'ETIMEDOUT' });
    const timer = setTimeout(() => request.destroy(silent), connectMs);
    request.once('close', () => clearTimeout(timer));
    request.on('error', (error) => {
      clearTimeout(timer);
      if (signal.aborted || !isNetworkError(error)) reject(error);
      else
        reject(new Diagnostic('E-IO-003', `the proxy ${shownProxy(proxy)}: ${networkReason(error)}`, { cause: error }));
    });
    request.once('connect', ({ statusCode = 0 }, socket: Socket, early: Buffer) => {
      clearTimeout(timer);
      if (statusCode >= 200 && statusCode < 300) {
        if (early.length > 0) socket.unshift(early);
        resolve(socket);
        return;
      }
      socket.destroy();
      const hint =
        statusCode === 407 ? 'put user and password of the proxy into its address' : 'ask who runs the proxy';
      const message = `the proxy ${shownProxy(proxy)} does not connect to ${target} (${statusCode})`;
      reject(new Diagnostic('E-IO-003', message, { hint }));
    });
    request.end();
  });
}
