import { afterEach, describe, expect, it } from 'vitest';

import { calls, says, useFormations } from '../support/formation.ts';
import { attributesOf, OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';

const start = useFormations();
const receivers: OtlpReceiver[] = [];

afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});

const staysUp = 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\n';

function delegatesTo(name: string, task: string, when: string): string {
  const call = calls('delegate-task', { capsule: name, version: '1.0.0', task }, when);
  return [call, says('It is under way.', when), says('Heard.', 'delegation_id')].join('');
}

const capsules = {
  lead: {
    manifest: `${staysUp}capabilities: { spawn: { allow: [middle, worker] } }\n`,
    script: delegatesTo('middle', 'Begin', 'Start'),
  },
  middle: {
    manifest: `${staysUp}capabilities: { spawn: { allow: [worker] } }\n`,
    script: delegatesTo('worker', 'Count.', 'Begin'),
  },
  worker: { manifest: 'lifecycle: { task_acceptance: single }\n', script: says('One.', 'Count.') },
};

describe('a formation of three processes', () => {
  it('makes one trace, in which each task hangs on the delegation that it comes from', async () => {
    const receiver = await OtlpReceiver.start();
    receivers.push(receiver);
    const key = 'key-of-the-collector';
    const formation = await start({
      capsules,
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS: `x-key=${key}`,
        OTEL_SERVICE_NAME: 'the-lead',
        OTEL_BSP_SCHEDULE_DELAY: '1',
      },
    });
    await formation.send('Start');
    await workerEnded(receiver);
    formation.lead.child.kill('SIGTERM');
    await formation.lead.ended;
    const trace = formation.trace.find(
      ({ event_type, origin }) => event_type === 'task_received' && origin !== 'completion',
    );
    const traceId = String(trace?.['task_id']).slice(-32);
    const spans = receiver.spans.filter((span) => span.traceId === traceId);
    const agents = spans.filter(({ name }) => name.startsWith('invoke_agent '));
    expect(agents.map(({ name, kind }) => `${name} ${kind}`).toSorted()).toEqual([
      'invoke_agent lead 1',
      'invoke_agent middle 2',
      'invoke_agent middle 3',
      'invoke_agent worker 2',
      'invoke_agent worker 3',
    ]);
    expect(pathOfWorker(spans)).toEqual([
      'chat scripted',
      'invoke_agent worker 2',
      'invoke_agent worker 3',
      'invoke_agent middle 2',
      'invoke_agent middle 3',
      'invoke_agent lead 1',
    ]);
    expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(receiver.spans.length);
    expect(new Set(receiver.requests.all.map(({ headers }) => headers['x-key']))).toEqual(new Set([key]));
    expect(servicesIn(receiver)).toEqual(['middle', 'the-lead', 'worker']);
    expect(JSON.stringify([formation.trace, formation.childTrace, formation.grandchildTrace])).not.toContain(key);
  }, 120_000);

  it('has a span for every line of its traces that is to be one, once', async () => {
    const receiver = await OtlpReceiver.start();
    receivers.push(receiver);
    receiver.answer = (response) => void response.writeHead(503).end();
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`, OTEL_BSP_SCHEDULE_DELAY: '1' };
    const formation = await start({ capsules, env });
    await formation.send('Start');
    await receiver.requests.next();
    receiver.recover();
    await workerEnded(receiver);
    formation.lead.child.kill('SIGTERM');
    await formation.lead.ended;
    const lines = [...formation.trace, ...formation.childTrace, ...formation.grandchildTrace];
    const sent = receiver.spans.map(({ spanId, name, kind }) => `${spanId} ${name} ${kind}`);
    expect(sent.map((span) => span.slice(0, 16)).toSorted(), sent.join('\n')).toEqual(
      lines.flatMap(spanIdOf).toSorted(),
    );
  }, 120_000);
});

/** The ids of the spans that a line makes. */
function spanIdOf(line: Readonly<Record<string, unknown>>): readonly string[] {
  const id = (key: string): string => String(line[key]).slice(-16);
  switch (line['event_type']) {
    case 'inference':
    case 'tool_call':
    case 'shell':
    case 'skill_call':
      return [id('event_id')];
    case 'task_end':
      return [id('task_id')];
    case 'delegation':
      return line['status'] === 'started' ? [] : [id('delegation_id')];
    default:
      return [];
  }
}

/** Resolves once the collector knows of the end of the delegation to the worker. */
async function workerEnded(receiver: OtlpReceiver): Promise<void> {
  await receiver.requests.next(() =>
    receiver.spans.some(({ name, kind }) => name === 'invoke_agent worker' && kind === 3),
  );
}

/** From the inference of the worker up to where its trace begins. */
function pathOfWorker(spans: readonly ReceivedSpan[]): readonly string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const worker = spans.find(({ name, kind }) => name === 'invoke_agent worker' && kind === 2);
  let span = spans.find(({ parentSpanId }) => parentSpanId === worker?.spanId);
  const path: string[] = [];
  while (span !== undefined) {
    path.push(span.name.startsWith('invoke_agent') ? `${span.name} ${span.kind}` : span.name);
    span = byId.get(span.parentSpanId ?? '');
  }
  return path;
}

function servicesIn(receiver: OtlpReceiver): readonly string[] {
  const names = receiver.received
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ json }) => json['resourceSpans'] as readonly { readonly resource: Pick<ReceivedSpan, 'attributes'> }[])
    .map(({ resource }) => String(attributesOf(resource)['service.name']));
  return [...new Set(names)].toSorted();
}
