import { randomUUID } from 'node:crypto';

import { describe, expect, inject, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { boundHost } from '@svc/kit/keys/bound-origin.ts';
import { gatewayUser } from '../../registry/test/ceph-gateway.ts';
import { OutboundHttp } from '../src/outbound/outbound-http.ts';
import type { RemoteAnswers } from '../src/outbound/remote-messages.ts';

const { endpoint } = inject('s3');
const { host: authority } = new URL(endpoint);
const bucket = `signed-${randomUUID()}`;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** Whether the body comes after the request was opened. */
  readonly isLate?: boolean;
  readonly secret?: string;
  readonly isFor?: boolean;
}

/** The status and the body that a component is given. */
async function ask({ method, path, body = '', isLate = false, secret, isFor = true }: Asked): Promise<string> {
  const host = boundHost({
    origin: endpoint,
    rules: null,
    key: {
      credential: 'store',
      header: 'authorization',
      scheme: 'sigv4',
      user: gatewayUser.accessKeyId,
      secret: new Secret(secret ?? gatewayUser.secretAccessKey),
      placeholder: isFor ? 'svc-key-0123456789abcdef0123456789abcdef' : null,
      allowsForeign: false,
      signing: { region: 'us-east-1', service: 's3', sessionToken: null, now: () => Date.now() },
    },
  });
  const http = new OutboundHttp({
    grants: { mayReach: (url) => url.host === authority, bound: (origin) => (origin === endpoint ? host : null) },
  });
  const bytes = Buffer.from(body);
  const opened = (await http.answer({
    operation: 'open',
    head: {
      method,
      scheme: 'http',
      authority,
      pathWithQuery: path,
      headers: isLate ? [['content-length', Buffer.from(String(bytes.length))]] : [],
      connectTimeoutMs: null,
      firstByteTimeoutMs: null,
      betweenBytesTimeoutMs: null,
    },
    body: isLate ? { bytes: new Uint8Array(0), finished: false } : { bytes, finished: true },
  })) as RemoteAnswers['open'];
  if (opened.kind === 'refused') return opened.error.tag;
  const { exchange } = opened;
  if (isLate) {
    await http.answer({ operation: 'write', exchange, bytes });
    await http.answer({ operation: 'finish', exchange });
  }
  await http.answer({ operation: 'wait', waits: [{ exchange, event: 'head' }], timeoutMs: null, takes: false });
  const head = (await http.answer({ operation: 'head', exchange })) as RemoteAnswers['head'];
  if (head.kind !== 'arrived') throw new Error('there is no answer');
  let text = '';
  for (;;) {
    const read = (await http.answer({ operation: 'read', exchange, wait: true })) as RemoteAnswers['read'];
    if (read.kind !== 'bytes') break;
    text += Buffer.from(read.bytes).toString('utf8');
  }
  http.close();
  return `${head.status} ${text}`;
}

describe('a request of a component to a service that wants a signature', () => {
  it('is signed for the component, and reaches the real service with that alone', async () => {
    const path = `/${bucket}/a%20b//(c)+`.replace('+', '%2B');
    expect(await ask({ method: 'PUT', path: `/${bucket}` })).toBe('200 ');
    expect(await ask({ method: 'PUT', path, body: 'of the component' })).toBe('200 ');
    expect(await ask({ method: 'GET', path })).toBe('200 of the component');
    expect(await ask({ method: 'PUT', path, body: 'in pieces', isLate: true })).toBe('200 ');
    expect(await ask({ method: 'GET', path })).toBe('200 in pieces');
    expect(await ask({ method: 'GET', path: `/${bucket}?list-type=2&prefix=a+b` })).toContain('<Key>a b//(c)+</Key>');
    expect(await ask({ method: 'GET', path, isFor: false })).toMatch(/^403 .*AccessDenied/s);
    expect(await ask({ method: 'GET', path, secret: 'another-secret' })).toMatch(/^403 .*SignatureDoesNotMatch/s);
    expect(await ask({ method: 'GET', path: `/${bucket}/x/../a` })).toBe('HTTP-request-denied');
    expect(await ask({ method: 'DELETE', path })).toBe('204 ');
  });
});
