import { afterEach, describe, expect, it } from 'vitest';

import { startFakeAnthropic } from '@svc/testing/fake-anthropic.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { says } from '@svc/testing/fake-reply.ts';
import type { FakeProvider } from '@svc/testing/fake-provider.ts';
import { scriptLineSchemas, type RunResult } from '@svc/svc/run/script/run-result.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { pipedSvc } from '../support/piped-run.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

const providers: FakeProvider[] = [];
afterEach(async () => {
  await Promise.all(providers.splice(0).map(async (provider) => await provider.close()));
});

/** A stream of the Chat Completions API. */
function chat(...chunks: readonly object[]): { kind: 'raw'; pieces: readonly string[] } {
  return { kind: 'raw', pieces: [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'] };
}

/** A stream of the Messages API. */
function messages(...events: readonly { readonly type: string }[]): { kind: 'raw'; pieces: readonly string[] } {
  return { kind: 'raw', pieces: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`) };
}

function asking(endpoint: string, driver: string, rest = ''): Workspace {
  return capsule({
    files: {
      'svc.yaml': `name: demo
version: 1.2.3
inference:
  endpoint: ${endpoint}
  model: m
  driver: { artifact: ${driver}, config: { max_retries: 0 } }
${rest}`,
    },
  });
}

async function resultOf(workspace: Workspace): Promise<RunResult> {
  const { stdout } = await pipedSvc(workspace, ['-p', 'Go', '--output', 'json']);
  return scriptLineSchemas.result.parse(JSON.parse(stdout)) as RunResult;
}

/** Calls `echo`, and the pieces of a message before it. */
function calling(deltas: readonly object[], call: object): ReturnType<typeof chat> {
  const whole = { index: 0, type: 'function', function: { name: 'echo', arguments: '{"command":"hi"}' }, ...call };
  const pieces = [...deltas, { tool_calls: [whole] }].map((delta) => ({ choices: [{ index: 0, delta }] }));
  return chat(...pieces, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
}

const echo = 'capabilities: { shell: { allow: [echo] } }\n';

it('a call goes back to the provider with its id and with what it brought', async () => {
  const id = `call_1__thought__${'QUJD'.repeat(16_000)}`;
  const provider = await startFakeOpenAi([
    calling([{ reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA', index: 0 }] }], {
      id,
      extra_content: { google: { thought_signature: 'U0lH' } },
    }),
    says('Done.'),
  ]);
  providers.push(provider);
  expect(await resultOf(asking(provider.endpoint, 'svc-driver-openai', echo))).toMatchObject({ answer: 'Done.' });
  expect(provider.requests[1]?.json).toMatchObject({
    messages: [
      { role: 'user' },
      {
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA', index: 0 }],
        tool_calls: [{ id, extra_content: { google: { thought_signature: 'U0lH' } } }],
      },
      { role: 'tool', tool_call_id: id },
    ],
  });
});

describe('the result of a run', () => {
  it('says what the provider had in its cache', async () => {
    const openAi = await startFakeOpenAi([
      chat(
        { choices: [{ index: 0, delta: { content: 'Done.' }, finish_reason: 'stop' }] },
        {
          choices: [],
          usage: { prompt_tokens: 900, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 640 } },
        },
      ),
    ]);
    const anthropic = await startFakeAnthropic([
      messages(
        { type: 'message_start', message: { usage: { input_tokens: 10, cache_read_input_tokens: 800 } } } as never,
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } } as never,
        { type: 'message_stop' },
      ),
    ]);
    providers.push(openAi, anthropic);
    expect(await resultOf(asking(openAi.endpoint, 'svc-driver-openai'))).toMatchObject({
      usage: { input_tokens: 900, output_tokens: 5, cache_read_tokens: 640 },
    });
    expect(await resultOf(asking(anthropic.endpoint, 'svc-driver-anthropic'))).toMatchObject({
      usage: { input_tokens: 810, output_tokens: 4, cache_read_tokens: 800 },
    });
  });
});
