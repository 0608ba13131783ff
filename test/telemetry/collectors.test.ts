import { afterEach, describe, expect, it } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import { type DeliveredSignals, Exporter } from '@svc/telemetry/exporter.ts';
import { readSettings } from '@svc/telemetry/telemetry-settings.ts';
import type { TraceLine } from '@svc/record/trace/events.ts';
import { closedPort } from '../support/closed-port.ts';
import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { inProcessorTime } from '../support/processor-time.ts';

const open: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const common = { parent_id: null, session_id: `ses_${'1'.repeat(32)}`, timestamp: 1_760_000_000_000 } as const;
const task = 'tsk_019a0c8e7b2c7d3f8a1b2c3d4e5f6071';

const start = {
  ...common,
  event_type: 'session_start',
  event_id: `evt_${'1'.repeat(32)}`,
  capsule: { name: 'demo', version: '1.0.0' },
  runtime_version: '0.4.0',
  containment: { declared: 'advisory', achieved: 'advisory', mechanism: '' },
  tools_declared: [],
  effective_grants: {},
} as const satisfies TraceLine;

/** The nth inference of the task: its span id ends with the number. */
function inference(number: number): TraceLine {
  const event_id = `evt_${'2'.repeat(24)}${String(number).padStart(8, '0')}`;
  const of = { task_id: task, turn: 1, model: 'm', outcome: 'response', stop_reason: null, usage: null } as const;
  return { ...common, event_type: 'inference', event_id, ...of, duration_ms: 5 };
}

interface Options {
  readonly url: string;
  readonly env?: Readonly<Record<string, string>>;
}

function exporterTo({ url, env = {} }: Options): Exporter {
  const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`, OTEL_BSP_SCHEDULE_DELAY: '1' };
  const { settings, problems } = readSettings({ ...traces, ...env });
  expect(problems).toEqual([]);
  return new Exporter({ settings, start, redact: (text) => text, clock: systemClock, isLive: false });
}

async function receiverThat(answer?: OtlpReceiver['answer']): Promise<OtlpReceiver> {
  const receiver = await OtlpReceiver.start();
  open.push(() => receiver.close());
  if (answer !== undefined) receiver.answer = answer;
  return receiver;
}

/** Longer than a test may take: an exporter that waits for all of it is one that has not ended by itself. */
const patienceMs = 600_000;

/** Sends this many spans, and says what became of them. */
async function sent(
  exporter: Exporter,
  spans: number,
  withinMs = patienceMs,
): Promise<{ readonly traces: DeliveredSignals['traces'] }> {
  for (let number = 1; number <= spans; number += 1) exporter.take(inference(number));
  const { traces } = await exporter.close(withinMs, null);
  return { traces };
}

describe('spans that are sent', () => {
  it.each(['http/protobuf', 'http/json'])('arrive once each, in batches, over %s', async (protocol) => {
    const receiver = await receiverThat();
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: protocol, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20k3y' };
    const { traces } = await sent(exporterTo({ url: receiver.url, env }), 1200);
    expect(traces).toEqual({ sent: 1200, dropped: 0, failed: 0 });
    expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(1200);
    expect(receiver.spans.length).toBe(1200);
    expect(receiver.received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer k3y',
      'Bearer k3y',
      'Bearer k3y',
    ]);
  });

  it('disappear, the newest first, where there is no room, and a session waits for none of it', async () => {
    const receiver = await receiverThat();
    const exporter = exporterTo({ url: receiver.url, env: { OTEL_BSP_MAX_QUEUE_SIZE: '100' } });
    const { ms } = inProcessorTime(() => {
      for (let number = 1; number <= 250; number += 1) exporter.take(inference(number));
    });
    expect(ms).toBeLessThan(200);
    const { traces } = await exporter.close(patienceMs, null);
    expect(traces).toEqual({ sent: 100, dropped: 150, failed: 0 });
    expect(receiver.spans.map(({ spanId }) => Number(spanId.slice(-8)))).toEqual(
      Array.from({ length: 100 }, (_, at) => at + 1),
    );
  });

  it('arrive once each after a collector was away', async () => {
    const receiver = await receiverThat((response) => void response.writeHead(503).end());
    const exporter = exporterTo({ url: receiver.url });
    for (let number = 1; number <= 20; number += 1) exporter.take(inference(number));
    await receiver.requests.next();
    receiver.recover();
    const { traces } = await exporter.close(patienceMs, null);
    expect(traces).toEqual({ sent: 20, dropped: 0, failed: 0 });
    expect(receiver.spans.map(({ spanId }) => Number(spanId.slice(-8)))).toEqual(
      Array.from({ length: 20 }, (_, at) => at + 1),
    );
  });

  it('get lost after the end of the session, and the count says so', async () => {
    const receiver = await receiverThat();
    const exporter = exporterTo({ url: receiver.url });
    await exporter.close(patienceMs, null);
    const span = exporter.requests.begin({ door: 'mcp', binding: 'HTTP', name: 'late', traceparent: undefined });
    span.end({ errorType: null, taskId: null });
    expect(exporter.delivered.traces).toEqual({ sent: 0, dropped: 0, failed: 1 });
    expect(receiver.received).toEqual([]);
  });

  it('arrive by themselves while the session goes on, also after a pause of a second', async () => {
    let refusals = 1;
    const receiver = await receiverThat((response) => {
      refusals -= 1;
      if (refusals === 0) receiver.recover();
      response.writeHead(429, { 'retry-after': '0' }).end();
    });
    const exporter = exporterTo({ url: receiver.url });
    open.push(async () => void (await exporter.close(0, null)));
    exporter.take(inference(1));
    await receiver.requests.next();
    await receiver.requests.next();
    expect(receiver.spans.length).toBe(1);
  });
});

describe('a collector that', () => {
  const refused = { sent: 0, dropped: 0, failed: 3 };

  it.each<[string, number, Readonly<Record<string, string>>]>([
    ['refuses', 400, {}],
    ['does not know the key', 401, {}],
    ['finds the batch too large', 413, {}],
    ['does not speak protobuf', 415, {}],
    ['fails', 500, {}],
    ['sends elsewhere', 307, { location: 'http://127.0.0.1:1/v1/traces' }],
  ])('%s (%d) is asked once, and loses the batch', async (_what, status, headers) => {
    const receiver = await receiverThat((response) => void response.writeHead(status, headers).end('no'));
    const { traces } = await sent(exporterTo({ url: receiver.url }), 3);
    expect(traces).toEqual(refused);
    expect(receiver.requests.all.length).toBe(1);
  });

  it.each([502, 503, 504, 429])('answers %d is asked again until the end, and no longer', async (status) => {
    const receiver = await receiverThat((response) => void response.writeHead(status).end());
    const { traces } = await sent(exporterTo({ url: receiver.url }), 3, 1500);
    expect(traces).toEqual(refused);
    expect(receiver.requests.all.length).toBeGreaterThan(1);
  });

  it('asks for a longer pause than there is left is not asked again, and not waited for', async () => {
    const receiver = await receiverThat((response) => void response.writeHead(503, { 'retry-after': '6000' }).end());
    const { traces } = await sent(exporterTo({ url: receiver.url }), 3);
    expect([traces, receiver.requests.all.length]).toEqual([refused, 1]);
  });

  it('does not exist costs the end its patience at most', async () => {
    const exporter = exporterTo({ url: `http://127.0.0.1:${await closedPort()}` });
    const { traces } = await sent(exporter, 3, 500);
    expect([traces, exporter.why]).toEqual([refused, 'nothing listens there']);
  });

  it('never answers costs the end its patience at most', async () => {
    const receiver = await receiverThat(() => {});
    const { traces } = await sent(exporterTo({ url: receiver.url }), 3, 300);
    expect(traces).toEqual(refused);
  });

  it('needs longer than the time for a request gets another request', async () => {
    const receiver = await receiverThat(() => receiver.recover());
    const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '500' };
    const { traces } = await sent(exporterTo({ url: receiver.url, env }), 3);
    expect(traces).toEqual({ sent: 3, dropped: 0, failed: 0 });
    // A busy machine may be as slow once more.
    expect(receiver.requests.all.length).toBeGreaterThan(1);
  });

  it('answers more than anybody reads has taken what it was sent', async () => {
    const receiver = await receiverThat((response) => void response.writeHead(200).end('x'.repeat(4 * 1024 * 1024)));
    const { traces } = await sent(exporterTo({ url: receiver.url }), 3);
    expect(traces).toEqual({ sent: 3, dropped: 0, failed: 0 });
  });

  it('answers for ever has taken what it was sent, when the time is over', async () => {
    const receiver = await receiverThat((response) => {
      const drip = setInterval(() => void response.write('x'), 5);
      response.on('close', () => clearInterval(drip));
      response.writeHead(200);
    });
    const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '1000' };
    const { traces } = await sent(exporterTo({ url: receiver.url, env }), 3);
    expect([traces, receiver.requests.all.length]).toEqual([{ sent: 3, dropped: 0, failed: 0 }, 1]);
  });

  it('speaks no HTTP at all loses what it was sent', async () => {
    const receiver = await receiverThat((response) => void response.socket?.end('nonsense\r\n\r\n'));
    const { traces } = await sent(exporterTo({ url: receiver.url }), 3, 400);
    expect(traces).toEqual(refused);
  });

  it.each<[string, string, string | Uint8Array]>([
    ['JSON', 'application/json', '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}'],
    ['protobuf', 'application/x-protobuf', Uint8Array.of(0x0a, 0x06, 0x08, 0x02, 0x12, 0x02, 0x6e, 0x6f)],
  ])('throws some of it away, as it says in %s, has taken the rest', async (_what, type, body) => {
    const receiver = await receiverThat((response) => void response.writeHead(200, { 'content-type': type }).end(body));
    const { traces } = await sent(exporterTo({ url: receiver.url }), 3);
    expect(traces).toEqual({ sent: 1, dropped: 0, failed: 2 });
  });

  it('says nonsense of what it threw away has taken all', async () => {
    const body = '{"partialSuccess":{"rejectedSpans":1e300}}';
    const headers = { 'content-type': 'application/json' };
    const receiver = await receiverThat((response) => void response.writeHead(200, headers).end(body));
    expect((await sent(exporterTo({ url: receiver.url }), 3)).traces).toEqual({ sent: 3, dropped: 0, failed: 0 });
  });
});
