import { afterEach, describe, expect, it } from 'vitest';

import { startFakeAnthropic } from '@svc/testing/fake-anthropic.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import type { FakeProvider } from '@svc/testing/fake-provider.ts';
import { calls, says, type FakeReply } from '@svc/testing/fake-reply.ts';
import { canceled, completed, working } from '../support/frame-lines.ts';
import { useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';
import { makeWorkspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const providers: FakeProvider[] = [];

afterEach(async () => {
  for (const provider of providers.splice(0)) await provider.close();
});

type Kind = readonly [
  driver: string,
  startProvider: (replies: readonly FakeReply[]) => Promise<FakeProvider>,
  /** The number of the event that carries the second piece of a text. */
  secondPiece: number,
];

const kinds: readonly Kind[] = [
  ['svc-driver-openai', startFakeOpenAi, 2],
  ['svc-driver-anthropic', startFakeAnthropic, 4],
];

async function start(
  [driver, startProvider]: Kind,
  replies: readonly FakeReply[],
): Promise<{ readonly capsule: StreamedCapsule; readonly provider: FakeProvider }> {
  const provider = await startProvider(replies);
  providers.push(provider);
  const workspace = makeWorkspace({
    'svc.yaml': `name: chunks
version: 1.0.0
inference: { endpoint: '${provider.endpoint}', model: m, driver: { artifact: ${driver} } }
lifecycle: { task_acceptance: queue, after_task: sleep }
`,
  });
  return { capsule: await capsules.from(workspace), provider };
}

/** Counts to three, and stays at `one` until it is let go on. */
function counts([, , second]: Kind): { readonly reply: FakeReply; readonly release: () => void } {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const pace = async (event: number): Promise<void> => (event < second ? undefined : await held);
  return { reply: { ...says('one', 'two', 'three'), pace }, release };
}

function chunk(text: string): string {
  return `text {"id":"task-1","text":"${text}","final":false}`;
}

function thought(text: string): string {
  return `thinking {"id":"task-1","text":"${text}","final":false}`;
}

const endOfChunks = 'text {"id":"task-1","text":"","final":true}';

describe.each(kinds)('%s', (...kind) => {
  it('shows thinking and text as the provider sends them [D1-FRAME-35, D1-FRAME-36, D1-FRAME-37, D1-FRAME-40, D1-ID-02, D1-ID-09]', async () => {
    const { capsule } = await start(kind, [
      { ...calls('absent', {}), thinking: ['Is there', ' a tool?'], text: ['I look.'] },
      { kind: 'stream', thinking: ['No.\n'], text: ['There is ', 'none \u{1F937}\u2028'] },
    ]);
    const stream = await (await capsule.submit('Look.')).untilClosed();
    expect(stream.lines).toEqual([
      `0 ${working(1)}`,
      `1 ${thought('Is there')}`,
      `2 ${thought(' a tool?')}`,
      `3 ${chunk('I look.')}`,
      `4 ${endOfChunks}`,
      '5 artifact {"id":"task-1","artifact":{"tool_name":"absent","content":"there is no tool named \\"absent\\"; there are no tools","fence_source":null,"tool_call_id":"call_a1","is_error":true,"duration_ms":<ms>,"exit_code":null,"truncated":false}}',
      `6 ${working(2)}`,
      `7 ${thought('No.\\n')}`,
      `8 ${chunk('There is ')}`,
      `9 ${chunk('none \u{1F937}\u2028')}`,
      `10 ${endOfChunks}`,
      `11 ${completed()}`,
    ]);
  });

  it('shows a chunk while the provider is still at its reply [D1-FRAME-36]', async () => {
    const { reply, release } = counts(kind);
    const { capsule } = await start(kind, [reply]);
    const stream = await capsule.submit('Count.');
    // The rest is sent only once this one has been seen.
    await stream.until(({ data }) => data['text'] === 'one');
    release();
    expect((await stream.untilClosed()).lines).toEqual([
      `0 ${working(1)}`,
      `1 ${chunk('one')}`,
      `2 ${chunk('two')}`,
      `3 ${chunk('three')}`,
      `4 ${endOfChunks}`,
      `5 ${completed()}`,
    ]);
  });

  it('writes no end of chunks, and leaves the provider, when its task is canceled [D1-STATE-14, D1-ID-09]', async () => {
    const { reply, release } = counts(kind);
    const { capsule, provider } = await start(kind, [reply]);
    const stream = await capsule.submit('Count.');
    const { data } = await stream.until(({ data: { text } }) => text === 'one');
    await capsule.rpc('tasks/cancel', { id: data['id'] });
    expect((await stream.untilClosed()).lines).toEqual([`0 ${working(1)}`, `1 ${chunk('one')}`, `2 ${canceled()}`]);
    expect(await provider.requests[0]?.closed).toBe('abandoned');
    release();
  });

  it('marks the end of what it had shown when the stream breaks off and the task fails [D1-STATE-10, D1-FRAME-37, D1-ID-09]', async () => {
    const { capsule } = await start(kind, [{ ...says('one'), finish: 'of_another_kind' }]);
    const stream = await (await capsule.submit('Count.')).untilClosed();
    expect(stream.lines).toEqual([
      `0 ${working(1)}`,
      `1 ${chunk('one')}`,
      `2 ${endOfChunks}`,
      '3 status {"id":"task-1","status":{"state":"failed","message":"session ended","response":"error: the driver gave an unknown stop reason: \\"other: of_another_kind\\""},"final":true}',
    ]);
  });
});
