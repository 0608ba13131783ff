import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import type { CompactionVerdict, FullContext } from './session-hooks.ts';
import type { Message } from '../model/driver.ts';

const userTask = { text: 'Count the files.', origin: 'user', trust: 'trusted' } as const;
const summary: Message = { role: 'user', content: [{ type: 'text', text: 'So far: 3.' }] };
const count = fakeTool('count', async () => passed('3'.repeat(4000)));

async function run(verdict: CompactionVerdict): Promise<{ fixture: SessionFixture; asked: FullContext[] }> {
  const asked: FullContext[] = [];
  const fixture = new SessionFixture({
    turns: [{ ...calls(['count', {}]), continuationId: 'kept' }, says('Done.')],
    tools: [count],
    contextMaxTokens: 1000,
    hooks: {
      compact: async (_task, context) => {
        asked.push(context);
        return verdict;
      },
    },
  });
  fixture.session.board.submit(userTask);
  await fixture.session.run();
  return { fixture, asked };
}

describe('a conversation that nears the limit of its model', () => {
  it('continues as the hook rewrote it', async () => {
    const { fixture, asked } = await run({ kind: 'replaced', hookName: 'compact', messages: [summary] });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.maxTokens).toBe(1000);
    expect(asked[0]?.estimatedTokens).toBeGreaterThan(1000);
    expect(asked[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(fixture.driver.requests[1]).toMatchObject({ messages: [summary] });
    expect(fixture.driver.requests[1]).not.toHaveProperty('continuationId');
    expect(fixture.lines.at(-1)).toBe('4 status completed "session ended"');
    expect(fixture.traced.find(({ event_type: type }) => type === 'compaction')).toMatchObject({
      outcome: 'replaced',
      hook_name: 'compact',
      max_tokens: 1000,
      messages_before: 3,
      messages_after: 1,
    });
  });

  it('goes on as it is when its hook leaves it', async () => {
    const { fixture } = await run({ kind: 'unchanged' });
    expect(fixture.driver.requests[1]).toMatchObject({ continuationId: 'kept' });
    expect(fixture.driver.requests[1]?.messages).toHaveLength(3);
    expect(fixture.traced.find(({ event_type: type }) => type === 'compaction')).toMatchObject({
      outcome: 'unchanged',
      messages_after: 3,
    });
  });

  it('goes on as it is when nobody compacts', async () => {
    const { fixture } = await run({ kind: 'nobody' });
    expect(fixture.driver.requests).toHaveLength(2);
    expect(fixture.tracedTypes()).not.toContain('compaction');
  });

  it.each<[string, CompactionVerdict, string]>([
    ['its hook fails', { kind: 'failed', hookName: 'compact', error: 'it broke off' }, 'it broke off'],
    [
      'its hook splits a call from its result',
      {
        kind: 'replaced',
        hookName: 'compact',
        messages: [summary, { role: 'tool', toolCallId: 'call_1', isError: false, content: [] }],
      },
      'a result answers "call_1", which nothing called',
    ],
    ['its hook leaves nothing', { kind: 'replaced', hookName: 'compact', messages: [] }, 'the conversation is empty'],
  ])('fails its task when %s [D1-STATE-10]', async (_, verdict, error) => {
    const { fixture } = await run(verdict);
    expect(fixture.driver.requests).toHaveLength(1);
    expect(fixture.lines.at(-1)).toBe('3 status failed "session ended"');
    expect(fixture.results).toEqual([`error: the conversation could not be compacted: ${error}`]);
    expect(fixture.traced.find(({ event_type: type }) => type === 'compaction')).toMatchObject({
      outcome: 'failed',
      hook_name: 'compact',
      error,
    });
  });
});
