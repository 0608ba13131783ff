import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, tracePath } from '../support/capsule-folders.ts';
import { startFakeAnthropic } from '@svc/testing/fake-anthropic.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

let workspace: Workspace;
let server: Server | null = null;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  workspace.remove();
});

async function endpointOf(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs one task; what the trace says of its calls of the model and of its end. */
async function runWith(
  inference: string,
  files: Record<string, string> = {},
): Promise<{
  readonly code: number | null;
  readonly calls: readonly Readonly<Record<string, unknown>>[];
  readonly error: unknown;
}> {
  workspace = makeWorkspace({ ...files, 'task.md': 'Go.' });
  const here = inference.replaceAll('HERE', workspace.folder);
  workspace.write('svc.yaml', `name: patient\nversion: 1.0.0\ninference:\n  model: m\n${here}`);
  const { code } = await svc(workspace, ['run']);
  const trace = readTrace(tracePath(workspace, onlySession(workspace)));
  const calls = trace.filter(({ event_type: type }) => type === 'inference');
  const end = trace.find(({ event_type: type }) => type === 'task_end');
  const result = readFileSync(join(workspace.folder, 'workdir', onlySession(workspace), 'out', 'result.txt'), 'utf8');
  if (end?.['state'] === 'failed') expect(result).toBe(`error: ${String(end['error'])}`);
  return { code, calls, error: end?.['error'] };
}

const silence = 'E-RUN-064: the model was silent for 1 s: inference.timeout_secs.idle';
const length = 'E-RUN-064: the model did not end its response within 2 s: inference.timeout_secs.total';

describe('a model that never answers', () => {
  it.each(['svc-driver-openai', 'svc-driver-anthropic'])(
    'fails its task at the idle limit, with %s',
    async (driver) => {
      const endpoint = await endpointOf(() => {});
      const { code, error } = await runWith(
        `  endpoint: ${endpoint}\n  driver: { artifact: ${driver} }\n  timeout_secs: { idle: 1 }\n`,
      );
      expect({ code, error }).toEqual({ code: 1, error: silence });
    },
  );

  it('fails its task at the idle limit when it falls silent in the middle of a response', async () => {
    const endpoint = await endpointOf((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"I"},"finish_reason":null}]}\n\n');
    });
    const { error } = await runWith(
      `  endpoint: ${endpoint}\n  driver: { artifact: svc-driver-openai }\n  timeout_secs: { idle: 1 }\n`,
    );
    expect(error).toBe(silence);
  });

  it('fails its task at the total limit when it only gives signs of life', async () => {
    const endpoint = await endpointOf((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const beat = setInterval(() => response.write(': still thinking\n\n'), 100);
      response.once('close', () => clearInterval(beat));
    });
    const { error } = await runWith(
      `  endpoint: ${endpoint}\n  driver: { artifact: svc-driver-openai }\n  timeout_secs: { idle: 60, total: 2 }\n`,
    );
    expect(error).toBe(length);
  });

  it.each([
    ['says nothing', 'setInterval(() => {}, 1000);', '{ idle: 1 }', silence],
    [
      'says a word now and then',
      `setInterval(() => console.log('{"type":"thinking","text":"hm"}'), 100);`,
      '{ idle: 60, total: 2 }',
      length,
    ],
  ])('fails its task, as a program that %s', async (_, program, limits, expected) => {
    const { code, error } = await runWith(
      `  transport: process\n  command: ["${process.execPath}", "HERE/model.mjs"]\n  timeout_secs: ${limits}\n`,
      { 'model.mjs': `process.stdin.resume();\n${program}\n` },
    );
    expect({ code, error }).toEqual({ code: 1, error: expected });
  });
});

describe('a driver that asks its model again', () => {
  it.each([
    ['svc-driver-openai', startFakeOpenAi],
    ['svc-driver-anthropic', startFakeAnthropic],
  ])('has that in the trace, with the reason: %s', async (driver, startProvider) => {
    await using provider = await startProvider([
      { kind: 'refuse', status: 429, headers: { 'retry-after-ms': '10' }, message: 'slow down' },
      { kind: 'drop' },
      { kind: 'stream', text: ['Done.'] },
    ]);
    const { code, calls } = await runWith(`  endpoint: ${provider.endpoint}\n  driver: { artifact: ${driver} }\n`);
    expect(code).toBe(0);
    expect(calls).toMatchObject([
      { outcome: 'response', retries: ['the provider answered 429', 'connection terminated'] },
    ]);
  });
});
