import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../test/support/fake-clock.ts';
import type { SpanRecord } from './otlp-records.ts';
import { RequestSpans, type RequestSpan } from './request-spans.ts';
import { keepAll, type Sampler } from './task-trace.ts';

const caller = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const well = { errorType: null, taskId: null };

function spans(sampler: Sampler = keepAll): {
  clock: FakeClock;
  sent: SpanRecord[];
  begin: (traceparent?: string, method?: string | null) => RequestSpan;
  made: RequestSpans;
} {
  const clock = new FakeClock();
  const sent: SpanRecord[] = [];
  const made = new RequestSpans({ sampler, clock, send: (span) => sent.push(span) });
  const begin = (traceparent?: string, name: string | null = 'GetTask'): RequestSpan =>
    made.begin({ door: 'a2a', binding: 'JSONRPC', name, traceparent });
  return { clock, sent, begin, made };
}

describe('a request at a door', () => {
  it('has a span of its own below the one that its caller names', () => {
    const { clock, sent, begin } = spans();
    const span = begin(caller, 'SendMessage');
    expect(span.traceparent).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$/);
    clock.advance(25);
    span.end({ errorType: null, taskId: 'tsk_1' });
    span.end({ errorType: 'TASK_NOT_FOUND', taskId: null });
    expect(sent).toEqual([
      {
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        spanId: span.traceparent.split('-')[2],
        parentSpanId: '00f067aa0ba902b7',
        name: 'SendMessage',
        kind: 2,
        startMs: 1_760_000_000_000,
        endMs: 1_760_000_000_025,
        attributes: [
          { key: 'svc.door', value: 'a2a' },
          { key: 'svc.door.binding', value: 'JSONRPC' },
          { key: 'svc.task.id', value: 'tsk_1' },
        ],
        isError: false,
        isParentRemote: true,
      },
    ]);
  });

  it('begins a trace where no caller names one, or one that is malformed', () => {
    const { sent, begin } = spans();
    for (const traceparent of [
      undefined,
      'nonsense',
      caller.replace(/0e4736-00f067aa0ba902b7/, '0e4736-0000000000000000'),
    ]) {
      begin(traceparent).end(well);
    }
    expect(sent.map(({ parentSpanId, isParentRemote }) => [parentSpanId, isParentRemote])).toEqual([
      [null, false],
      [null, false],
      [null, false],
    ]);
    expect(new Set(sent.map(({ traceId }) => traceId)).size).toBe(3);
  });

  it('has what its door says of it, at its beginning and at its end', () => {
    const { sent, made } = spans();
    const attributes = { httpMethod: 'GET', httpRoute: null };
    made.begin({ door: 'd', binding: 'b', name: 'n', attributes, traceparent: undefined }).end({
      errorType: '500',
      taskId: null,
      attributes: { httpStatus: 500 },
    });
    expect(sent[0]?.attributes).toEqual([
      { key: 'svc.door', value: 'd' },
      { key: 'svc.door.binding', value: 'b' },
      { key: 'http.request.method', value: 'GET' },
      { key: 'http.response.status_code', value: 500 },
      { key: 'error.type', value: '500' },
    ]);
  });

  it('says what went wrong, and for an unknown method no name of the client', () => {
    const { sent, begin } = spans();
    begin(undefined, null).end({ errorType: 'METHOD_NOT_FOUND', taskId: null });
    expect(sent[0]).toMatchObject({ name: '_OTHER', isError: true });
    expect(sent[0]?.attributes.at(-1)).toEqual({ key: 'error.type', value: 'METHOD_NOT_FOUND' });
  });

  it('has no span where its trace is not kept, and its task learns that', () => {
    const { sent, begin } = spans();
    const unkept = begin(caller.replace(/01$/, '00'));
    unkept.end(well);
    expect([unkept.traceparent.slice(-2), sent.length]).toEqual(['00', 0]);
    const none = spans({ ratio: 0, followsParent: false });
    const other = none.begin(caller);
    other.end(well);
    expect([other.traceparent.slice(-2), none.sent.length]).toEqual(['00', 0]);
  });

  it('links the span of a task for others', () => {
    const { made } = spans();
    const task = 'tsk_019a0c8e7b2c7d3f8a1b2c3d4e5f6071';
    expect(made.traceparentOf(task, undefined)).toBe('00-019a0c8e7b2c7d3f8a1b2c3d4e5f6071-8a1b2c3d4e5f6071-01');
    expect(made.traceparentOf(task, caller)).toBe('00-4bf92f3577b34da6a3ce929d0e0e4736-8a1b2c3d4e5f6071-01');
  });
});
