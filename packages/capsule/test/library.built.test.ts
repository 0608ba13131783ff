import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  CapsuleError,
  type CapsuleEvent,
  type CapsuleRequest,
  type InferenceRequest,
  type ModelProvider,
  runCapsule,
} from '../src/index.ts';

const manifest = `name: kettle
version: 1.0.0
inference: { model: leaves, system_prompt: Make tea., driver: { artifact: svc-driver-script } }
capabilities: { shell: { allow: [sleep] } }
`;

const says = (text: string): ModelProvider => ({
  infer: async () => ({ content: [{ type: 'text', text }], stopReason: 'end_turn' }),
});
/** A model whose answer is not of its type. */
const gives = (answer: unknown): ModelProvider => ({ infer: async () => answer as never });

describe('runCapsule', { timeout: 30_000 }, () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-library-'));
    writeFileSync(join(folder, 'svc.yaml'), manifest);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const asked = (more: Partial<CapsuleRequest>): CapsuleRequest => ({
    manifest: join(folder, 'svc.yaml'),
    task: 'Make tea.',
    env: { PATH: process.env['PATH'] },
    home: folder,
    ...more,
  });

  it('asks the provider in the place of the driver, and says what each task came to', async () => {
    const requests: InferenceRequest[] = [];
    const provider: ModelProvider = {
      name: 'leaves',
      infer: async (request) => {
        requests.push(request);
        request.onThinking('Green?');
        request.onText('The tea ');
        request.onText('is ready.');
        const usage = { inputTokens: 7, outputTokens: 3 };
        return { content: [{ type: 'text', text: 'The tea is ready.' }], stopReason: 'end_turn', usage };
      },
    };
    const events: CapsuleEvent[] = [];
    const outcome = await runCapsule(asked({ provider, onEvent: (event) => events.push(event) }));
    expect(outcome).toEqual({
      status: 'ok',
      sessionId: expect.stringMatching(/^ses_/),
      workdir: join(folder, 'workdir', outcome.sessionId),
      tasks: [{ id: expect.stringMatching(/^tsk_/), state: 'completed', result: 'The tea is ready.', error: null }],
      problem: null,
    });
    expect(requests).toMatchObject([
      {
        model: 'leaves',
        system: expect.stringContaining('Make tea.'),
        messages: [{ role: 'user', content: [{ type: 'text', text: expect.stringContaining('Make tea.') }] }],
        tools: [{ name: 'sleep' }],
      },
    ]);
    expect(events[0]).toMatchObject({ kind: 'listening', name: 'kettle', sessionId: outcome.sessionId });
    const frames = events.flatMap((event) => (event.kind === 'frame' ? [event] : []));
    expect(frames.map(({ frame }) => frame.event)).toEqual(['status', 'thinking', 'text', 'text', 'text', 'status']);
    expect(frames.every(({ id }) => typeof id === 'bigint')).toBe(true);
    const trace = readFileSync(join(folder, '.svc', 'sessions', outcome.sessionId, 'trace.jsonl'), 'utf8');
    expect(trace).toContain('"driver":"leaves"');
    expect(trace).toContain('"usage":{"input_tokens":7,"output_tokens":3}');
  });

  it('runs calls and gives the model their results', async () => {
    const provider: ModelProvider = {
      infer: async ({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === 'tool') {
          const { content } = last;
          return { content: [{ type: 'text', text: `${last.toolCallId} ${content.length}` }], stopReason: 'end_turn' };
        }
        const call = { type: 'tool_call', id: 'c1', name: 'sleep', input: { command: '0' } } as const;
        return { content: [call], stopReason: 'tool_call' };
      },
    };
    expect((await runCapsule(asked({ provider }))).tasks).toMatchObject([{ state: 'completed', result: 'c1 1' }]);
  });

  it('takes a call without an input for one that has nothing to say', async () => {
    const provider: ModelProvider = {
      infer: async ({ messages }) => {
        if (messages.length > 1) return { content: [], stopReason: 'end_turn' };
        return { content: [{ type: 'tool_call', id: 'c1', name: 'sleep' } as never], stopReason: 'tool_call' };
      },
    };
    expect((await runCapsule(asked({ provider }))).tasks).toMatchObject([{ state: 'completed', result: '' }]);
  });

  const circle: Record<string, unknown> = { stopReason: 'end_turn' };
  circle['content'] = [circle];
  it.each([
    ['undefined', undefined, 'response must be JSON'],
    ['a circle', circle, 'response must be JSON'],
    ['null', null, 'response must be a block of keys'],
    ['no content', { stopReason: 'end_turn' }, 'response.content must be a list'],
    [
      'a wrong block',
      { content: [{ type: 'text', text: 5 }], stopReason: 'end_turn' },
      'response.content[0].text must be text',
    ],
    [
      'an unknown stop reason',
      { content: [], stopReason: 'done' },
      'response.stopReason must be one of end_turn, max_tokens, tool_call, error',
    ],
    [
      'a call of BigInt',
      { content: [{ type: 'tool_call', id: 'c', name: 'sleep', input: 1n }], stopReason: 'tool_call' },
      'response must be JSON',
    ],
  ])('fails the task where the provider answers %s', async (_what, answer, problem) => {
    const told: CapsuleEvent[] = [];
    const { status, tasks } = await runCapsule(
      asked({ provider: gives(answer), onEvent: (event) => void (event.kind === 'task-failed' && told.push(event)) }),
    );
    const error = `the model provider gave an answer of another shape: ${problem}`;
    expect({ status, tasks }).toMatchObject({ status: 'failed', tasks: [{ state: 'failed', error }] });
    expect(told).toMatchObject([{ message: error }]);
  });

  it('fails the task where the provider throws, without the secrets of the capsule', async () => {
    writeFileSync(
      join(folder, 'svc.yaml'),
      manifest.replace('driver:', 'api_key: "${KEY}", endpoint: "http://127.0.0.1:1", driver:'),
    );
    const provider: ModelProvider = { infer: () => Promise.reject(new Error('no leaves for hunter2-hunter2')) };
    const env = { PATH: process.env['PATH'], KEY: 'hunter2-hunter2' };
    const { tasks } = await runCapsule(asked({ provider, env }));
    expect(tasks).toMatchObject([
      { state: 'failed', error: expect.stringContaining('model provider failed: no leaves') },
    ]);
    expect(JSON.stringify(tasks)).not.toContain('hunter2');
  });

  it('ends a call that takes longer than the manifest allows, and shows nothing that comes after', async () => {
    writeFileSync(
      join(folder, 'svc.yaml'),
      manifest.replace('driver:', 'timeout_secs: { idle: 1, total: 5 }, driver:'),
    );
    let late = (): void => {};
    const provider: ModelProvider = {
      infer: ({ onText }) => {
        late = () => onText('Too late.');
        return new Promise(() => {});
      },
    };
    const shown: CapsuleEvent[] = [];
    const onEvent = (event: CapsuleEvent): void => {
      if (event.kind === 'task-failed') late();
      if (event.kind === 'frame' && event.frame.event === 'text') shown.push(event);
    };
    const { tasks } = await runCapsule(asked({ provider, onEvent }));
    expect(tasks).toMatchObject([{ state: 'failed', error: expect.stringMatching(/^E-RUN-064: .*silent for 1 s/) }]);
    expect(shown).toEqual([]);
  });

  it('ends where its signal is aborted, also while the provider does not listen', async () => {
    const aborting = new AbortController();
    const provider: ModelProvider = {
      infer: () => {
        aborting.abort();
        return new Promise(() => {});
      },
    };
    const { status, tasks } = await runCapsule(asked({ provider, signal: aborting.signal }));
    expect([status, tasks.map(({ state }) => state)]).toEqual(['failed', ['canceled']]);
  });

  it('does not begin where the signal was aborted before', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(runCapsule(asked({ signal }))).rejects.toThrow('too late');
    expect(readdirSync(folder)).toEqual(['svc.yaml']);
  });

  it('stops where its listener throws, and rejects with that', async () => {
    const thrown = new Error('no such cup');
    const onEvent = (event: CapsuleEvent): void => {
      if (event.kind === 'frame') throw thrown;
    };
    await expect(runCapsule(asked({ provider: says('Tea.'), onEvent }))).rejects.toBe(thrown);
  });

  it('runs several at once, each with its own model', async () => {
    const outcomes = await Promise.all(['Green.', 'Black.'].map((tea) => runCapsule(asked({ provider: says(tea) }))));
    expect(outcomes.map(({ tasks }) => tasks[0]?.result)).toEqual(['Green.', 'Black.']);
  });

  it('rejects with the code of what stands in the way, and all of it', async () => {
    const failureOf = async (more: Partial<CapsuleRequest>): Promise<unknown> =>
      await runCapsule(asked(more)).catch((thrown: unknown) => thrown);
    expect(await failureOf({ task: ' ' })).toMatchObject({ code: 'E-RUN-024', hint: 'say what the capsule is to do' });
    expect(await failureOf({ home: 'here' })).toMatchObject({ code: 'E-IO-001' });
    const env = { SVC_CONTAINMENT_CEILING: 'advisory' };
    expect(await failureOf({ env, containment: 'scoped' })).toMatchObject({ code: 'E-CAP-003' });
    writeFileSync(join(folder, 'svc.yaml'), 'name: kettle\nversion: 1\n');
    const invalid = await failureOf({});
    expect(invalid).toBeInstanceOf(CapsuleError);
    expect(invalid).toMatchObject({
      code: 'E-MAN-001',
      problems: [{ code: 'E-MAN-001' }, { code: 'E-MAN-003', message: expect.stringMatching(/svc\.yaml:2:10: /) }],
    });
  });
});
