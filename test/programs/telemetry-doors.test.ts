import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';

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

describe('a request of another door is a span with the names of its conventions, and its task hangs on it', () => {
  /** A capsule that sends telemetry: spans of requests are made once that is loaded, which a span shows. */
  async function traced(turns: number): Promise<{ collector: OtlpReceiver; capsule: StreamedCapsule }> {
    const collector = await OtlpReceiver.start();
    onTestFinished(() => collector.close());
    const capsule = await capsules.script(
      { manifest: staysUp, script: script(...Array.from({ length: turns }, (_, at) => says(`${at}`))) },
      { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    );
    for (let tries = 0; tries < 100 && collector.spans.length === 0; tries += 1) {
      await call(capsule, 'ListTasks', {});
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return { collector, capsule };
  }

  const ofTask = (collector: OtlpReceiver, span: ReceivedSpan | undefined): ReceivedSpan | undefined =>
    collector.spans.find(({ name, parentSpanId }) => name === 'invoke_agent demo' && parentSpanId === span?.spanId);

  it('MCP, in both revisions', async () => {
    const { collector, capsule } = await traced(2);
    for (const mode of ['auto', 'legacy'] as const) {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(new StreamableHTTPClientTransport(new URL(`http://${capsule.line.url}/mcp`)));
      await client.callTool({ name: 'demo', arguments: { task: mode }, _meta: { traceparent: parent } });
      await client.callTool({ name: 'demo', arguments: {} });
      await expect(client.callTool({ name: 'other', arguments: {} })).rejects.toThrow('no tool of that name');
      await client.close();
    }
    await capsule.terminate();
    const calls = collector.spans.filter(({ name }) => name === 'tools/call demo');
    const good = calls.filter(({ parentSpanId }) => parentSpanId === '00f067aa0ba902b7');
    expect(good.map(({ traceId, kind }) => [traceId, kind])).toEqual([
      [parent.slice(3, 35), 2],
      [parent.slice(3, 35), 2],
    ]);
    for (const [at, span] of good.entries()) {
      expect(attributesOf(span)).toEqual({
        'svc.door': 'mcp',
        'svc.door.binding': 'HTTP',
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'demo',
        'jsonrpc.request.id': expect.any(String),
        'mcp.protocol.version': at === 0 ? '2026-07-28' : '2025-11-25',
        'network.transport': 'tcp',
        'network.protocol.name': 'http',
        'svc.task.id': expect.stringMatching(/^tsk_/),
      });
      expect(ofTask(collector, span)?.traceId).toBe(parent.slice(3, 35));
    }
    const wrong = calls.filter((span) => !good.includes(span)).map((span) => attributesOf(span)['error.type']);
    expect(wrong).toEqual(['tool_error', 'tool_error']);
    const others = collector.spans.filter(({ name }) => name === 'tools/call').map(attributesOf);
    expect(others).toHaveLength(2);
    expect(others[0]).toMatchObject({ 'error.type': '-32602', 'rpc.response.status_code': '-32602' });
    expect(collector.spans.some(({ name }) => name === 'initialize')).toBe(true);
  });

  it('OpenAI, whole and streamed', async () => {
    const { collector, capsule } = await traced(3);
    const url = `http://${capsule.line.url}/v1`;
    const post = async (path: string, body: unknown): Promise<string> => {
      const headers = { 'content-type': 'application/json', traceparent: parent };
      return await (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
    };
    const { id } = JSON.parse(await post('/responses', { input: 'a' })) as { id: string };
    await post('/responses', { input: 'b', stream: true });
    await post('/chat/completions', { messages: [{ role: 'user', content: 'c' }] });
    await post(`/responses/${id}/cancel`, {});
    await (await fetch(`${url}/responses/resp_none`)).text();
    await capsule.terminate();
    const spans = collector.spans.filter((span) => attributesOf(span)['svc.door'] === 'openai');
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      ['POST /v1/responses', 2],
      ['POST /v1/responses', 2],
      ['POST /v1/chat/completions', 2],
      ['POST /v1/responses/{response_id}/cancel', 2],
      ['GET /v1/responses/{response_id}', 2],
    ]);
    for (const span of spans.slice(0, 3)) {
      expect([span.traceId, span.parentSpanId]).toEqual([parent.slice(3, 35), '00f067aa0ba902b7']);
      expect(ofTask(collector, span)?.traceId).toBe(span.traceId);
    }
    const [first, , , , missing] = spans.map(attributesOf);
    expect(first).toEqual({
      'svc.door': 'openai',
      'svc.door.binding': 'HTTP',
      'http.request.method': 'POST',
      'http.route': '/v1/responses',
      'url.path': '/v1/responses',
      'url.scheme': 'http',
      'http.response.status_code': 200,
      'svc.task.id': `tsk_${id.slice('resp_tsk_'.length)}`,
    });
    expect(missing).toMatchObject({ 'http.response.status_code': 404, 'url.path': '/v1/responses/resp_none' });
    // What a client asks wrongly is no error of the server.
    expect(missing).not.toHaveProperty(['error.type']);
  });
});

it('a task and what is pushed of it have what the caller gave, without a collector too', async () => {
  const capsule = await capsules.script({ manifest: staysUp, script: script(says('one')) });
  await call(capsule, 'SendMessage', message('m1'), { traceparent: parent });
  const received = capsule.trace.find(({ event_type: type }) => type === 'task_received');
  expect(received?.['traceparent']).toBe(parent);
});
