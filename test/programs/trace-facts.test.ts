import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import type { LiveEvent } from '@svc/protocol/live-events.ts';
import { useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const patience = { timeout: 120_000 };

type Answer = (response: ServerResponse) => void;

/** A provider that gives one answer after another. */
async function startProvider(...answers: readonly Answer[]): Promise<{ readonly host: string }> {
  const left = [...answers];
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => left.shift()?.(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const refuses: Answer = (response) => {
  response.writeHead(429, { 'content-type': 'application/json', 'retry-after-ms': '120' });
  response.end('{"error":{"message":"slow down"}}');
};

function streams(cached: number | null, choice: object, finish: string): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const details = cached === null ? {} : { prompt_tokens_details: { cached_tokens: cached } };
    const chunks = [
      { choices: [{ index: 0, delta: choice, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
      { choices: [], usage: { prompt_tokens: 100, completion_tokens: 5, ...details } },
    ];
    response.end([...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join(''));
  };
}

function calling(...calls: readonly (readonly [id: string, name: string, input: object])[]): Answer {
  const tool_calls = calls.map(([id, name, input], index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  return streams(64, { tool_calls }, 'tool_calls');
}

const manifest = (host: string): string => `name: facts
version: 1.0.0
artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]
inference: { endpoint: "http://${host}", model: m, driver: { artifact: svc-driver-openai } }
lifecycle: { task_acceptance: queue, after_task: sleep }
trace: { capture: content }
capabilities: { shell: { allow: [sh, cat] } }
`;

const waitsForFile = 'ln -s /etc/passwd passwords; echo begun; until [ -e go ]; do sleep 0.02; done; echo done';
const first = 'a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e';
const second = '16367aacb67a4a017c8da8ab95682ccb390863780f7114dda0a0e0c55644c7c4';

async function started(): Promise<{ readonly capsule: StreamedCapsule; readonly host: string }> {
  const { host } = await startProvider(
    refuses,
    calling(['c1', 'sh', { command: waitsForFile }]),
    calling(
      ['c2', 'svc-tool-editor', { command: 'write', path: 'notes/./a.txt', content: 'first' }],
      ['c3', 'svc-tool-editor', { command: 'patch', path: 'notes/a.txt', old_text: 'first', new_text: 'second' }],
      ['c4', 'svc-tool-editor', { command: 'read', path: 'notes/a.txt' }],
      ['c5', 'svc-tool-editor', { command: 'read', path: 'passwords' }],
      ['c6', 'svc-tool-editor', { command: 'dance' }],
      ['c7', 'rm', { command: '-r notes' }],
    ),
    streams(null, { content: 'Done.' }, 'stop'),
  );
  return { host, capsule: await capsules.from(makeWorkspace({ 'svc.yaml': manifest(host) })) };
}

/** Runs the one task to its end; its command goes on once its first output was reported. */
async function worked(capsule: StreamedCapsule): Promise<LiveEvent[]> {
  const client = new CapsuleClient({ url: capsule.line.url });
  const seen: LiveEvent[] = [];
  for await (const event of client.watch({ events: true })) {
    if (event.kind === 'connected') await client.send('Work.');
    if (event.kind !== 'event') continue;
    seen.push(event.event);
    if (event.event.event === 'output') writeFileSync(join(capsule.line.workdir, 'go'), '');
    if (event.event.event === 'task_settled') break;
  }
  return seen;
}

describe('the trace and the events of a session', () => {
  it(
    'say when calls began, what a cache had, where the model was, what was changed, denied and used',
    patience,
    async () => {
      const { capsule, host } = await started();
      const before = Date.now();
      const seen = await worked(capsule);
      expect(seen.filter(({ event }) => event === 'retry')).toEqual([
        {
          event: 'retry',
          taskId: expect.any(String),
          turn: 1,
          reason: 'the provider answered 429',
          wait: { status: 429, waitMs: 120, attempt: 1, of: 3 },
        },
      ]);
      expect(seen.filter(({ event }) => event === 'output')).toMatchObject([
        { turn: 1, callId: 'c1', toolName: 'sh', text: 'begun\n', leftOut: 0 },
        { turn: 1, callId: 'c1', toolName: 'sh', text: 'done\n', leftOut: 0 },
      ]);
      const kinds = seen.map(({ event }) => event);
      expect(kinds.indexOf('retry')).toBeLessThan(kinds.indexOf('usage'));
      expect(kinds.lastIndexOf('output')).toBeLessThan(kinds.indexOf('call_end'));

      await capsule.terminate();
      const { trace } = capsule;
      const of = (type: string): readonly Readonly<Record<string, unknown>>[] =>
        trace.filter((line) => line['event_type'] === type);
      for (const line of [...of('inference'), ...of('tool_call'), ...of('shell')]) {
        const [start, duration, written] = [line['start_ms'], line['duration_ms'], line['timestamp']].map(Number);
        expect(start).toBeGreaterThanOrEqual(before);
        expect(Number(start) + Number(duration)).toBeLessThanOrEqual(Number(written) + 5);
      }
      expect(of('inference')).toMatchObject([
        { turn: 1, host, cache_read_tokens: 64, retries: ['the provider answered 429'], ttfb_ms: expect.any(Number) },
        { turn: 2, host, cache_read_tokens: 64, ttfb_ms: expect.any(Number) },
        { turn: 3, host, ttfb_ms: expect.any(Number) },
      ]);
      // The wait is part of it.
      expect(Number(of('inference')[0]?.['ttfb_ms'])).toBeGreaterThanOrEqual(120);
      expect(of('inference')[2]).not.toHaveProperty('cache_read_tokens');
      const editor = 'svc-tool-editor';
      expect(of('file_change')).toMatchObject([
        { tool_name: editor, path: 'notes/a.txt', change: 'created', before: null, after: { sha256: first, bytes: 5 } },
        {
          tool_name: editor,
          path: 'notes/a.txt',
          change: 'changed',
          before: { sha256: first, bytes: 5 },
          after: { sha256: second, bytes: 6 },
        },
      ]);
      expect(of('refusal')).toMatchObject([
        { what: 'file', name: 'passwords', rule: 'not-permitted', by: editor },
        { what: 'tool', name: editor, rule: 'input_schema', by: 'svc' },
        { what: 'tool', name: 'rm', rule: 'not offered', by: 'svc' },
      ]);
      const [address, port] = host.split(':');
      const [egress, ...more] = of('egress');
      expect(more).toEqual([]);
      expect(egress).toMatchObject({
        host: address,
        port: Number(port),
        allowed: true,
        by: 'svc-driver-openai',
        connections: 4,
      });
      expect(Number(egress?.['bytes_in'])).toBeGreaterThan(500);
      expect(Number(egress?.['bytes_out'])).toBeGreaterThan(2000);
      expect(trace.at(-1)).toMatchObject({
        event_type: 'session_end',
        grant_evidence: {
          commands: { sh: { used: 1, refused: 0 } },
          tools: { [editor]: { used: 4, refused: 1 } },
          hosts: { [host]: { used: 4, refused: 0 } },
          capsules: {},
          hooks: {},
          unknown_calls: 1,
        },
      });
    },
  );

  it('part in nothing when the session is run again', patience, async () => {
    const { capsule } = await started();
    await worked(capsule);
    await capsule.terminate();
    const { code, stdout } = await svc(capsule.workspace, ['run', '--replay', capsule.line.session_id, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ steps: 8, outcome: 'same' });
  });
});
