import { describe, expect, it } from 'vitest';

import { DriverRequests } from './component-driver.ts';

function heard(): { readonly requests: DriverRequests; readonly lines: string[]; readonly end: () => void } {
  const requests = new DriverRequests();
  const lines: string[] = [];
  const end = requests.listen({ onSign: () => lines.push('sign'), onRetry: (reason) => lines.push(reason) });
  return { requests, lines, end };
}

describe('requests of a driver', () => {
  it.each([
    [{ kind: 'answered', status: 429 }, 'the provider answered 429'],
    [{ kind: 'answered', status: 200 }, 'the response broke off'],
    [{ kind: 'failed', error: 'connection-refused' }, 'connection refused'],
  ] as const)('after %j are told as a retry', (sign, reason) => {
    const { requests, lines } = heard();
    requests.tell({ kind: 'started' });
    requests.tell(sign);
    requests.tell({ kind: 'bytes' });
    requests.tell({ kind: 'started' });
    expect(lines).toEqual(['sign', 'sign', 'sign', 'sign', reason]);
  });

  it('of the next call are no retry', () => {
    const { requests, lines, end } = heard();
    requests.tell({ kind: 'started' });
    requests.tell({ kind: 'answered', status: 200 });
    end();
    requests.tell({ kind: 'started' });
    expect(lines).toEqual(['sign', 'sign']);
  });

  it('keep a call alive that waits for its turn, whose retries they are not', () => {
    const { requests, lines } = heard();
    const waiting: string[] = [];
    requests.listen({ onSign: () => waiting.push('sign'), onRetry: (reason) => waiting.push(reason) });
    requests.tell({ kind: 'started' });
    requests.tell({ kind: 'failed', error: 'connection-timeout' });
    requests.tell({ kind: 'started' });
    expect(lines.at(-1)).toBe('connection timeout');
    expect(waiting).toEqual(['sign', 'sign', 'sign']);
  });
});
