import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from 'vitest';

import { closedPort } from '../support/closed-port.ts';
import { partsIn } from '../support/part-names.ts';
import { attributesOf, OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { readTrace } from '../support/read-trace.ts';
import { runsCommand, scriptCapsule } from '../support/script-capsule.ts';
import { StandInProxy } from '../support/stand-in-proxy.ts';
import { startCapsule, svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const open: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const grantsShell = 'capabilities: { shell: { allow: [sh] }, env: { allow: [OTEL_EXPORTER_OTLP_HEADERS] } }\n';

function capsule(...commands: readonly string[]): Workspace {
  const workspace = scriptCapsule({ manifest: grantsShell, script: runsCommand(...commands) });
  open.push(() => workspace.remove());
  return workspace;
}

async function receiver(): Promise<OtlpReceiver> {
  const started = await OtlpReceiver.start();
  open.push(() => started.close());
  return started;
}

const endpoint = ({ url }: OtlpReceiver): Record<string, string> => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url });

async function run(workspace: Workspace, env: Readonly<Record<string, string>>, ...args: string[]): Promise<SvcEnd> {
  return await svc(workspace, ['run', '--json', '--task', 'Do it.', ...args], { env });
}

function traceOf({ folder }: Workspace): readonly Readonly<Record<string, unknown>>[] {
  return readTrace(join(sessionOf(folder), 'trace.jsonl'));
}

function sessionOf(folder: string): string {
  const sessions = join(folder, '.svc', 'sessions');
  const [name = ''] = readdirSync(sessions);
  return join(sessions, name);
}

const named = (spans: readonly ReceivedSpan[]): readonly string[] => spans.map(({ name }) => name);

describe('a session whose environment names a collector', () => {
  it('has a span for its task and one for each inference and call, below the span that started it, through a proxy', async () => {
    const collector = await receiver();
    const port = Number(new URL(collector.url).port);
    const proxy = await StandInProxy.forTest({ route: (target) => (target === 'collector.test:80' ? port : null) });
    const proxied = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test',
      HTTP_PROXY: `http://me:any@127.0.0.1:${proxy.port}`,
    };
    const workspace = capsule('echo one; exit 3');
    const env = { ...proxied, TRACEPARENT: parent, OTEL_RESOURCE_ATTRIBUTES: 'team=a%20b' };
    const { code, stderr } = await run(workspace, env);
    expect([code, stderr]).toEqual([0, '']);
    expect(new Set(proxy.asked)).toContain('http://collector.test/v1/traces');
    expect(named(collector.spans)).toEqual(['chat scripted', 'execute_tool sh', 'chat scripted', 'invoke_agent demo']);
    const [chat, tool, , task] = collector.spans;
    expect(task).toMatchObject({ parentSpanId: '00f067aa0ba902b7', kind: 2, flags: 0x301, status: {} });
    for (const span of collector.spans) expect(span.traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736');
    for (const span of [chat, tool]) expect(span).toMatchObject({ parentSpanId: task?.spanId, flags: 0x101 });
    expect(attributesOf(tool as ReceivedSpan)).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'sh',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': 'call_1',
      'svc.turn': 1,
      'process.exit.code': 3,
    });
    expect(Object.keys(attributesOf(chat as ReceivedSpan))).toEqual([
      'gen_ai.operation.name',
      'gen_ai.provider.name',
      'gen_ai.request.model',
      'gen_ai.response.finish_reasons',
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.output_tokens',
      'svc.turn',
    ]);
    expect(collector.metrics.map(({ name }) => name)).toEqual([
      'gen_ai.client.operation.duration',
      'gen_ai.client.inference.duration',
      'gen_ai.invoke_agent.duration',
      'gen_ai.execute_tool.duration',
      'gen_ai.client.token.usage',
      'gen_ai.client.inference.usage.input_tokens',
      'gen_ai.client.inference.usage.output_tokens',
    ]);
    expect(JSON.stringify(collector.received[0]?.json)).toContain('"team"');
    const last = traceOf(workspace).at(-1);
    expect(last).toMatchObject({
      event_type: 'session_end',
      telemetry: {
        traces: { sent: 4, dropped: 0, failed: 0 },
        metrics: { sent: 1, dropped: 0, failed: 0 },
        logs: { sent: 0, dropped: 0, failed: 0 },
      },
    });
  });

  it('has the same spans from its file, however often they are sent', async () => {
    const collector = await receiver();
    const workspace = capsule('echo one', 'exit 3');
    await run(workspace, { ...endpoint(collector), TRACEPARENT: parent });
    const live = collector.spans;
    const env = { ...endpoint(collector), OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
    for (const times of [2, 3]) {
      const { code, stdout } = await svc(workspace, ['trace', 'export', '--otlp'], { env });
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^sent 6 spans and 0 logs of ses_[0-9a-f]{32}\n$/)]);
      expect(collector.spans.length).toBe(times * live.length);
    }
    const sorted = (spans: readonly ReceivedSpan[]): readonly unknown[] =>
      spans
        .map((span) => ({ ...span, status: { code: 0, ...span.status }, attributes: attributesOf(span) }))
        .map(
          ({
            traceId,
            spanId,
            parentSpanId,
            name,
            kind,
            startTimeUnixNano,
            endTimeUnixNano,
            attributes,
            status,
            flags,
          }) => ({
            traceId,
            spanId,
            parentSpanId,
            name,
            kind,
            startTimeUnixNano,
            endTimeUnixNano,
            attributes,
            status,
            flags,
          }),
        )
        .toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1));
    expect(sorted(collector.spans.slice(6, 12))).toEqual(sorted(live));
    expect(sorted(collector.spans.slice(12))).toEqual(sorted(live));
  });

  it('sends no content unless it is asked to, and keeps some', async () => {
    const collector = await receiver();
    await run(capsule('echo canary-$((40+2))'), endpoint(collector));
    const asked = { ...endpoint(collector), SVC_TELEMETRY_CONTENT: '1' };
    await run(capsule('echo canary-$((40+2))'), asked, '--capture', 'meta');
    const sentSoFar = collector.received.map(({ body }) => body.toString('latin1')).join('');
    expect(sentSoFar).not.toMatch(/canary-|Do it\./);
    await run(capsule('echo canary-$((40+2))'), asked);
    const tool = collector.spans.findLast(({ name }) => name === 'execute_tool sh');
    expect(attributesOf(tool as ReceivedSpan)).toMatchObject({
      'gen_ai.tool.call.arguments': '{"command":"echo canary-$((40+2))"}',
      'gen_ai.tool.call.result': expect.stringContaining('canary-42'),
    });
    const chat = collector.spans.findLast(({ name }) => name === 'chat scripted');
    expect(attributesOf(chat as ReceivedSpan)['gen_ai.input.messages']).toContain('Do it.');
    const root = attributesOf(collector.spans.findLast(({ name }) => name.startsWith('invoke_agent ')) as ReceivedSpan);
    expect(root['gen_ai.input.messages']).toContain('Do it.');
    expect(root['gen_ai.output.messages']).toBe(attributesOf(chat as ReceivedSpan)['gen_ai.output.messages']);
  });

  it('keeps its variables from commands, and what headers hold from every record', async () => {
    const collector = await receiver();
    const canary = 'canary-of-a-key-4711';
    const workspace = capsule('env', `echo ${canary}`);
    const env = { ...endpoint(collector), OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${canary}` };
    const { stderr, stdout } = await run(workspace, { ...env, SVC_TELEMETRY_CONTENT: '1' });
    expect(collector.received[0]?.headers.authorization).toBe(`Bearer ${canary}`);
    const sent = collector.received.map(({ body }) => body.toString('latin1')).join('');
    // The model of this test says the key, so that it is in the script and nowhere else.
    const kept = filesBelow(workspace.folder).filter((file) => !file.endsWith('script.yaml'));
    const texts = kept.map((file) => readFileSync(file, 'latin1'));
    for (const text of [sent, stdout, stderr, ...texts]) {
      expect(text).not.toContain(canary);
      expect(text).not.toMatch(/^OTEL_/m);
    }
    expect(texts.join('')).toContain('[secret]');
  });

  it('ends in order where nobody listens, and says what was lost', async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await closedPort()}` };
    const workspace = capsule();
    const { code, stderr } = await run(workspace, env);
    expect(code).toBe(0);
    expect(stderr).toBe(
      'warning[W-OTL-003]: telemetry was lost: 2 of 2 spans, 1 of 1 sets of measures (nothing listens there)\n',
    );
    expect(traceOf(workspace).at(-1)).toMatchObject({ telemetry: { traces: { sent: 0, dropped: 0, failed: 2 } } });
  });

  it('warns once of a collector that takes no measures, and goes on to send spans', async () => {
    const collector = await receiver();
    collector.answer = (response, { path }) => void response.writeHead(path === '/v1/metrics' ? 404 : 200).end();
    const workspace = capsule();
    const first = await run(workspace, endpoint(collector));
    expect(first.stderr).toBe(
      'warning[W-OTL-003]: telemetry was lost: 1 of 1 sets of measures (it answered 404)\n' +
        'hint: the collector takes no measures: OTEL_METRICS_EXPORTER=none sends none; this is said once for each address\n',
    );
    expect((await run(workspace, endpoint(collector))).stderr).toBe('');
    expect(traceOf(workspace).at(-1)).toMatchObject({ telemetry: { metrics: { failed: 1 }, traces: { failed: 0 } } });
  });

  it('has every span once when the collector was away for a while', async () => {
    const collector = await receiver();
    collector.answer = (response) => void response.writeHead(503).end();
    const workspace = capsule(...Array.from({ length: 6 }, () => 'true'));
    const running = run(workspace, { ...endpoint(collector), OTEL_BSP_SCHEDULE_DELAY: '1' });
    await collector.requests.next(({ path }) => path === '/v1/traces');
    collector.recover();
    await running;
    const made = traceOf(workspace).filter(({ event_type }) => ['inference', 'shell'].includes(String(event_type)));
    const ids = made.map(({ event_id }) => String(event_id).slice(-16));
    const task = traceOf(workspace).find(({ event_type }) => event_type === 'task_end');
    expect(collector.spans.map(({ spanId }) => spanId).toSorted()).toEqual(
      [...ids, String(task?.['task_id']).slice(-16)].toSorted(),
    );
  });

  it('sends nothing when it is run again from its journal', async () => {
    const collector = await receiver();
    const workspace = capsule('echo one');
    await run(workspace, endpoint(collector));
    const before = collector.requests.all.length;
    const session = sessionOf(workspace.folder).slice(-4);
    const { code } = await svc(workspace, ['run', '--replay', session], { env: endpoint(collector) });
    expect([code, collector.requests.all.length]).toEqual([0, before]);
  });

  it('runs all the same where the protocol is one that svc does not speak', async () => {
    const collector = await receiver();
    const { code, stderr } = await run(capsule(), { ...endpoint(collector), OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
    expect([code, collector.requests.all.length]).toEqual([0, 0]);
    expect(stderr.match(/^warning\[W-OTL-001\]/gm)?.length).toBe(3);
  });

  it('puts a task that came over HTTP below the span of its sender', async () => {
    const collector = await receiver();
    const workspace = scriptCapsule({ manifest: 'lifecycle: { task_acceptance: single }\n' });
    open.push(() => workspace.remove());
    const { process, line } = await startCapsule(workspace, [], { env: endpoint(collector) });
    const body = { jsonrpc: '2.0', id: 1, method: 'message/send' };
    const params = { message: { messageId: 'm', role: 'user', parts: [{ text: 'Hi' }] } };
    const headers = { 'content-type': 'application/json', traceparent: parent };
    await fetch(`http://${line.url}/`, { method: 'POST', headers, body: JSON.stringify({ ...body, params }) });
    await process.ended;
    expect(collector.spans.at(-1)).toMatchObject({
      name: 'invoke_agent demo',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      parentSpanId: '00f067aa0ba902b7',
    });
  });
});

describe('a session whose environment names none', () => {
  it.each([
    ['nothing', {}],
    [
      'an address, and that everything is off',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' },
    ],
  ])('loads no part that a build can leave out where it says %s', async (_what, env) => {
    const workspace = capsule();
    const code = await loadedCode(workspace, env);
    expect(code).toContain('svc-driver-script');
    expect(partsIn(code)).toEqual([]);
    expect(traceOf(workspace).at(-1)).not.toHaveProperty('telemetry');
  });

  it('would load something of it, were one named', async () => {
    const collector = await receiver();
    expect(partsIn(await loadedCode(capsule(), endpoint(collector)))).toEqual(['telemetry']);
  });

  it('has nowhere to send a trace to', async () => {
    const workspace = capsule();
    await run(workspace, {});
    const { code, stderr } = await svc(workspace, ['trace', 'export', '--otlp']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('error[E-OTL-004]')]);
  });
});

async function loadedCode(workspace: Workspace, env: Readonly<Record<string, string>>): Promise<string> {
  const list = join(workspace.home, 'loaded');
  const preload = fileURLToPath(new URL('../support/loaded-files.cjs', import.meta.url));
  await run(workspace, { ...env, NODE_OPTIONS: `--require=${preload}`, LOADED_FILES: list });
  const files = readFileSync(list, 'utf8').split('\n');
  return files.map((file) => readFileSync(file, 'utf8')).join('\n');
}

function filesBelow(folder: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path));
  return paths.filter((path) => statSync(path).isFile());
}
