import { afterEach, describe, expect, it } from 'vitest';

import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { type FakeProvider, recordsIn, isRecord } from '@svc/testing/fake-provider.ts';
import { calls, refuses, says, type FakeReply } from '@svc/testing/fake-reply.ts';
import { hookErrors } from '../support/hook-trace.ts';
import { useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';
import { makeWorkspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const providers: FakeProvider[] = [];
afterEach(async () => {
  for (const provider of providers.splice(0)) await provider.close();
});

interface Started {
  readonly provider: FakeProvider;
  readonly capsule: StreamedCapsule;
}

/** A capsule whose conversations are compacted, and whose model plays the replies. */
async function start(replies: readonly FakeReply[]): Promise<Started> {
  const provider = await startFakeOpenAi(replies);
  providers.push(provider);
  const workspace = makeWorkspace({
    'svc.yaml': `name: demo
version: 1.0.0
artifacts:
  - { name: svc-hook-compact, version: 1.0.0, runtime: hook }
inference:
  endpoint: '${provider.endpoint}'
  model: m
  driver: { artifact: svc-driver-openai }
  context: { max_tokens: 3000 }
capabilities: { shell: { allow: [sh] } }
lifecycle: { task_acceptance: queue, after_task: sleep }
`,
  });
  return { provider, capsule: await capsules.from(workspace) };
}

/** A turn that prints so many characters, and says that it used so many tokens of the model's room. */
function prints(characters: number, id: string, used = 100): FakeReply {
  const command = `head -c ${characters} /dev/zero | tr '\\0' x`;
  return { ...calls('sh', { command }, id), usage: { input: used - 50, output: 50 } };
}

/** The messages of a request, shortened: role and the beginning of the text, or the ids of calls. */
function conversation({ requests }: FakeProvider, index: number): readonly string[] {
  const body = requests[index]?.json;
  return recordsIn(isRecord(body) ? body['messages'] : []).map((message) => {
    const made = recordsIn(message['tool_calls']).map((call) => String(call['id']));
    const text = made.length > 0 ? `calls ${made.join()}` : String(message['tool_call_id'] ?? message['content']);
    return `${String(message['role'])} ${text.slice(0, 60)}`;
  });
}

describe('svc-hook-compact', () => {
  it('has the model sum up what is old, and the task goes on with the summary', async () => {
    const replies = [
      prints(1900, 'c1'),
      prints(1900, 'c2'),
      prints(1900, 'c3', 2950),
      says('Two were long.'),
      says('Done.'),
    ];
    const { provider, capsule } = await start(replies);
    const { frames, lines } = await (await capsule.submit('Count.')).untilClosed();
    expect(lines.at(-1)).toContain('"state":"completed"');
    expect(frames.filter(({ event }) => event === 'text').map(({ data }) => data['text'])).toEqual(['Done.', '']);
    expect(conversation(provider, 3)).toEqual([
      'system You sum up a part of the conversation between a user and an ',
      expect.stringMatching(/^user The transcript:\n\nAssistant:\n\(calls sh with /),
    ]);
    expect(provider.requests[3]?.json).not.toHaveProperty('tools');
    expect(conversation(provider, 4)).toEqual([
      'user Count.',
      'user [Summary of the earlier conversation, written by the model t',
      'assistant calls c3',
      'tool c3',
    ]);
    expect(provider.requests[4]?.body).toContain('Two were long.');
    const lineOf = (type: string): readonly unknown[] => capsule.trace.filter((line) => line['event_type'] === type);
    expect(lineOf('compaction')).toMatchObject([
      { outcome: 'replaced', hook_name: 'svc-hook-compact', max_tokens: 3000, messages_before: 7, messages_after: 4 },
    ]);
    const byHook = lineOf('inference').filter((line) => isRecord(line) && line['hook_name'] !== undefined);
    expect(byHook).toMatchObject([
      { hook_name: 'svc-hook-compact', turn: 0, usage: { input_tokens: 10, output_tokens: 5 } },
    ]);
    expect(hookErrors(capsule.trace)).toEqual([]);
  });

  it('asks no model where shorter results are enough', async () => {
    const { provider, capsule } = await start([prints(12_000, 'c1'), says('Done.')]);
    expect((await (await capsule.submit('Count.')).untilClosed()).lines.at(-1)).toContain('"state":"completed"');
    expect(conversation(provider, 1)).toEqual(['user Count.', 'assistant calls c1', 'tool c1']);
    expect(provider.requests[1]?.body).toMatch(
      /x{500}\\n\[… \d+ characters were taken out here to save room …\]\\nx{500}/,
    );
    expect(provider.requests[1]?.body.length).toBeLessThan(4000);
  });

  it('fails its task when the model gives no summary, and the next task runs [D1-STATE-10]', async () => {
    const replies = [
      prints(1900, 'c1'),
      prints(1900, 'c2'),
      prints(1900, 'c3', 2950),
      refuses(400, 'no'),
      says('Done.'),
    ];
    const { capsule } = await start(replies);
    const { frames } = await (await capsule.submit('Count.')).untilClosed();
    expect(frames.at(-1)?.data).toMatchObject({
      status: {
        state: 'failed',
        message: 'session ended',
        response: expect.stringMatching(
          /^error: the conversation could not be compacted: the model gave no summary: /,
        ) as string,
      },
      final: true,
    });
    expect(hookErrors(capsule.trace)).toEqual([
      expect.stringMatching(/^svc-hook-compact on-compaction: the model gave no summary: /),
    ]);
    expect((await (await capsule.submit('Again.')).untilClosed()).lines.at(-1)).toContain('"state":"completed"');
  });
});
