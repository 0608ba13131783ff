import { describe, expect, it } from 'vitest';

import { connectionFailure } from '@svc/guest/request-failure.ts';
import { DriverRequests } from './component-driver.ts';

interface Heard extends ReturnType<DriverRequests['listen']> {
  readonly requests: DriverRequests;
  readonly lines: string[];
}

function heard(): Heard {
  const requests = new DriverRequests();
  const lines: string[] = [];
  const { end, retryable } = requests.listen({
    onSign: () => lines.push('sign'),
    onRetry: (reason) => lines.push(reason),
  });
  return { requests, lines, end, retryable };
}

describe('requests of a driver', () => {
  it.each([
    [{ kind: 'answered', status: 429 }, 'the provider answered 429'],
    [{ kind: 'answered', status: 200 }, 'the response broke off'],
    [{ kind: 'failed', error: 'connection-refused' }, 'connection refused'],
    [{ kind: 'failed', error: 'internal-error', words: 'the proxy p-1:1: silent' }, 'the proxy p-1:1: silent'],
  ] as const)('follow %j as a retry', (sign, reason) => {
    const { requests, lines } = heard();
    requests.tell({ kind: 'started', host: 'api.example.test' });
    requests.tell(sign);
    requests.tell({ kind: 'bytes' });
    requests.tell({ kind: 'started', host: 'api.example.test' });
    expect(lines).toEqual(['sign', 'sign', 'sign', 'sign', reason]);
  });

  it.each([
    [{ kind: 'answered', status: 429 }, true],
    [{ kind: 'answered', status: 500 }, true],
    [{ kind: 'answered', status: 401 }, false],
    [{ kind: 'answered', status: 307 }, false],
    [{ kind: 'answered', status: 200 }, null],
    [{ kind: 'started', host: 'a.example.test' }, null],
    [{ kind: 'failed', error: 'HTTP-response-incomplete' }, true],
    [{ kind: 'failed', error: 'DNS-error' }, true],
    [{ kind: 'failed', error: 'TLS-certificate-error' }, false],
    [{ kind: 'failed', error: 'HTTP-request-denied' }, false],
    [{ kind: 'failed', error: 'internal-error', words: 'the proxy p:1 does not connect to h:443 (407)' }, false],
    [{ kind: 'failed', error: 'internal-error', words: 'the proxy p:1 does not connect to h:443 (429)' }, true],
    [{ kind: 'failed', error: 'internal-error', words: 'the proxy p:1 does not connect to h:443 (502)' }, true],
  ] as const)('may succeed later after %j: %s', (sign, expected) => {
    const { requests, retryable } = heard();
    expect(retryable()).toBe(null);
    requests.tell({ kind: 'started', host: 'a.example.test' });
    requests.tell({ kind: 'answered', status: 503 });
    requests.tell({ kind: 'started', host: 'a.example.test' });
    requests.tell(sign);
    requests.tell({ kind: 'bytes' });
    expect(retryable()).toBe(expected);
  });

  it.each([
    'DNS-timeout',
    'DNS-error',
    'destination-not-found',
    'destination-unavailable',
    'destination-IP-prohibited',
    'destination-IP-unroutable',
    'connection-refused',
    'connection-terminated',
    'connection-timeout',
    'connection-read-timeout',
    'connection-write-timeout',
    'connection-limit-reached',
    'TLS-protocol-error',
    'TLS-certificate-error',
    'TLS-alert-received',
    'HTTP-request-denied',
    'HTTP-request-length-required',
    'HTTP-request-URI-invalid',
    'HTTP-response-incomplete',
    'HTTP-response-timeout',
    'HTTP-response-content-coding',
    'HTTP-upgrade-failed',
    'HTTP-protocol-error',
    'loop-detected',
    'configuration-error',
    'internal-error',
  ])('may succeed later after %s where the driver believes it, too', (tag) => {
    const { requests, retryable } = heard();
    requests.tell({ kind: 'started', host: 'a.example.test' });
    requests.tell({ kind: 'failed', error: tag });
    expect(retryable()).toBe(connectionFailure('http://h', { tag }).transient);
  });

  it('may not succeed later where the provider names a reason that lasts, whatever its status', () => {
    const { requests, retryable } = heard();
    expect(retryable(true)).toBe(null);
    requests.tell({ kind: 'started', host: 'a.example.test' });
    requests.tell({ kind: 'answered', status: 429 });
    expect(retryable(true)).toBe(false);
  });

  it('show where they go, when the first bytes of the model come, and why a driver waits', () => {
    const requests = new DriverRequests();
    const seen: unknown[] = [];
    requests.listen({
      onRequest: (host) => seen.push(host),
      onFirstBytes: () => seen.push('bytes'),
      onRetryWait: (wait, why) => seen.push({ ...wait, ...why }),
    });
    requests.tell({ kind: 'started', host: 'one.example.test' });
    requests.tell({ kind: 'answered', status: 429 });
    requests.tell({ kind: 'bytes' });
    requests.waits({ waitMs: 500, attempt: 1, of: 3 });
    requests.tell({ kind: 'started', host: 'two.example.test:8443' });
    requests.tell({ kind: 'answered', status: 200 });
    requests.tell({ kind: 'bytes' });
    requests.tell({ kind: 'bytes' });
    const why = { reason: 'the provider answered 429', status: 429 };
    expect(seen).toEqual([
      'one.example.test',
      { waitMs: 500, attempt: 1, of: 3, ...why },
      'two.example.test:8443',
      'bytes',
    ]);
  });

  it('begin anew with the next call, which is no retry', () => {
    const { requests, lines, end } = heard();
    requests.tell({ kind: 'started', host: 'api.example.test' });
    requests.tell({ kind: 'answered', status: 200 });
    end();
    requests.tell({ kind: 'started', host: 'api.example.test' });
    expect(lines).toEqual(['sign', 'sign']);
  });

  it('keep a call alive that waits for its turn, whose retries they are not', () => {
    const { requests, lines } = heard();
    const waiting: string[] = [];
    requests.listen({ onSign: () => waiting.push('sign'), onRetry: (reason) => waiting.push(reason) });
    requests.tell({ kind: 'started', host: 'api.example.test' });
    requests.tell({ kind: 'failed', error: 'connection-timeout' });
    requests.tell({ kind: 'started', host: 'api.example.test' });
    expect(lines.at(-1)).toBe('connection timeout');
    expect(waiting).toEqual(['sign', 'sign', 'sign']);
  });
});
