import { Diagnostic } from '../diagnostics/diagnostic.ts';
import type { Environment } from '../environment.ts';

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
 * for none, and for `http`: such an address is this machine's. `E-REG-006` for a proxy that is no `http` address.
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
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    host: proxy.hostname.replaceAll(/^\[|\]$/g, ''),
    port: proxy.port === '' ? 80 : Number(proxy.port),
    authorization: username === '' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
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
