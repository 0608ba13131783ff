import type * as Sdk from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';

import type { DoorRequest, RequestSpans } from '@svc/telemetry/request-spans.ts';
import { traceRequests } from './traced-requests.ts';

it('a long id is cut in a span between two characters', () => {
  const begun: DoorRequest[] = [];
  const begin = (request: DoorRequest): object => {
    begun.push(request);
    return { traceparent: '', end: () => {} };
  };
  const transport = { send: async () => {} } as unknown as Sdk.Transport;
  const spans = (): RequestSpans => ({ begin }) as unknown as RequestSpans;
  traceRequests(transport, { spans, binding: 'stdio', tool: 'demo', version: () => undefined });
  const ids = [`${'x'.repeat(255)}\u{1F642}`, 'x'.repeat(256), 7];
  for (const id of ids) transport.onmessage?.({ jsonrpc: '2.0', id, method: 'ping' });
  const told = begun.map(({ attributes }) => attributes?.jsonRpcId);
  expect(told).toEqual([`${'x'.repeat(255)}\u2026`, 'x'.repeat(256), '7']);
});
