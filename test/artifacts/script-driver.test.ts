import { afterAll, beforeAll, expect, it } from 'vitest';

import { createComponentDriver, DriverRequests } from '@svc/session/model/component-driver.ts';
import type { DriverOutcome, InferenceRequest } from '@svc/session/model/driver.ts';
import { BundledArtifacts } from './bundled-artifact.ts';
import { noToolCalls } from '../support/quiet-calls.ts';

let artifacts: BundledArtifacts;
beforeAll(async () => {
  artifacts = await BundledArtifacts.open();
}, 300_000);
afterAll(async () => await artifacts.close());

const script = `
- thinking: [hm]
  chunks: ["Grü", "ße 🎈"]
  content:
    - { type: text, text: Grüße 🎈 }
    - { type: tool_call, id: c1, name: look, input: { deep: [1, null, "ü"] } }
  stop_reason: tool_call
  usage: { input_tokens: 3, output_tokens: 4 }
- delay_ms: 700
  content: []
  stop_reason: end_turn
`;

async function turn(continuationId?: string): Promise<{ outcome: DriverOutcome; seen: string[] }> {
  const driver = createComponentDriver({
    requests: new DriverRequests(),
    label: 'svc-driver-script',
    component: artifacts.component('svc-driver-script'),
    deadlineMs: 20_000,
    endpoint: '',
    apiKeyPlaceholder: undefined,
    config: { script: 'demo.yaml', script_text: script },
    redact: (text) => text,
  });
  const seen: string[] = [];
  const request: InferenceRequest = { model: '', system: '', messages: [], tools: [], maxTokens: 1 };
  const outcome = await driver
    .openTask()
    .infer(continuationId === undefined ? request : { ...request, continuationId }, {
      signal: new AbortController().signal,
      onText: (text) => seen.push(text),
      onThinking: (text) => seen.push(`~${text}`),
      ...noToolCalls,
    });
  await driver.close();
  return { outcome, seen };
}

it('the script driver plays the first response of the script to a new task', async () => {
  expect(await turn()).toEqual({
    outcome: {
      kind: 'response',
      response: {
        content: [
          { type: 'text', text: 'Grüße 🎈' },
          { type: 'tool_call', id: 'c1', name: 'look', input: { deep: [1, null, 'ü'] } },
        ],
        stopReason: 'tool_call',
        usage: { inputTokens: 3, outputTokens: 4 },
        continuationId: '1',
      },
    },
    seen: ['~hm', 'Grü', 'ße 🎈'],
  });
});

it('the script driver waits as long as the script says', async () => {
  const started = performance.now();
  expect((await turn('1')).outcome.kind).toBe('response');
  expect(performance.now() - started).toBeGreaterThanOrEqual(700);
});

it('the script driver fails past the end of the script', async () => {
  expect((await turn('2')).outcome).toEqual({
    kind: 'failed',
    error: 'script demo.yaml is past its end: it has 2 responses, and this is turn 3',
  });
});
