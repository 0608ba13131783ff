import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, it, onTestFinished } from 'vitest';

import { attributesOf, OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { says, script } from '../support/scripted-turns.ts';
import { staysUp, type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();
const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const pushes = 'doors: { push: { allow: [{ host: 127.0.0.1, private: true }] } }\n';

async function call(capsule: StreamedCapsule, method: string, params: unknown, more = {}): Promise<string> {
  const answer = await fetch(`http://${capsule.line.url}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...more },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return await answer.text();
}

function message(text: string, configuration = {}): unknown {
  return { message: { messageId: text, role: 'ROLE_USER', parts: [{ text }] }, configuration };
}

it('a request at a door is a span, and its task and what is pushed of it hang on it', async () => {
  const collector = await OtlpReceiver.start();
  onTestFinished(() => collector.close());
  const pushed: (string | undefined)[] = [];
  const hook = createServer((request, response) => {
    pushed.push(request.headers['traceparent'] as string | undefined);
    request.resume();
    response.end();
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  onTestFinished(() => void hook.close());
  const capsule = await capsules.script(
    { manifest: `${pushes}${staysUp}`, script: script(says('one'), says('two')) },
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  );
  // Telemetry is loaded once the listener is up: spans of requests are made from then on.
  for (let tries = 0; tries < 100 && collector.spans.length === 0; tries += 1) {
    await call(capsule, 'ListTasks', {});
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  await call(capsule, 'SendMessage', message('m1', { taskPushNotificationConfig: { url } }), { traceparent: parent });
  await call(capsule, 'SendStreamingMessage', message('m2'));
  await call(capsule, 'GetTask', { id: 'tsk_0' });
  await call(capsule, 'Nonsense', {});
  await fetch(`http://${capsule.line.url}/a2a/tasks`, { headers: { 'a2a-version': '1.0' } });
  await capsule.terminate();

  const spans = collector.spans.filter(({ name }) => name !== 'ListTasks' && !name.startsWith('chat'));
  expect(new Set(spans.map(({ name }) => name))).toEqual(
    new Set(['invoke_agent demo', 'SendMessage', 'SendStreamingMessage', 'GetTask', '_OTHER']),
  );
  const named = (name: string): ReceivedSpan => spans.find((span) => span.name === name) as ReceivedSpan;
  const send = named('SendMessage');
  expect(send).toMatchObject({ traceId: parent.slice(3, 35), parentSpanId: '00f067aa0ba902b7', kind: 2 });
  const tasks = spans.filter(({ name }) => name === 'invoke_agent demo');
  expect(tasks.map(({ parentSpanId }) => parentSpanId)).toEqual([send.spanId, named('SendStreamingMessage').spanId]);
  expect(tasks[0]?.traceId).toBe(send.traceId);
  const streamed = attributesOf(named('SendStreamingMessage'));
  expect(streamed).toEqual({ 'svc.door': 'a2a', 'svc.door.binding': 'JSONRPC', 'svc.task.id': expect.any(String) });
  expect(attributesOf(named('GetTask'))['error.type']).toBe('TASK_NOT_FOUND');
  const list = collector.spans.findLast(({ name }) => name === 'ListTasks') as ReceivedSpan;
  expect(attributesOf(list)['svc.door.binding']).toBe('HTTP+JSON');
  expect(new Set(pushed)).toEqual(new Set([`00-${send.traceId}-${tasks[0]?.spanId}-01`]));
});

it('without a collector a task and what is pushed of it have what the caller gave', async () => {
  const capsule = await capsules.script({ manifest: staysUp, script: script(says('one')) });
  await call(capsule, 'SendMessage', message('m1'), { traceparent: parent });
  const received = capsule.trace.find(({ event_type: type }) => type === 'task_received');
  expect(received?.['traceparent']).toBe(parent);
});
