import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../../test/support/fake-driver.ts';
import type { InferenceResponse } from '../model/driver.ts';
import { conversationLength } from './context-window.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';

const mebi = 1024 * 1024;
const userTask = { text: 'Go.', origin: 'user', trust: 'trusted' } as const;

describe('what a session holds of texts that others chose', () => {
  it('fails a task whose conversation passes 32 Mi characters, and begins no further call', async () => {
    let called = 0;
    const huge = fakeTool('huge', async () => {
      called += 1;
      return passed('x'.repeat(10 * mebi));
    });
    const six = Array.from({ length: 6 }, (): [string, unknown] => ['huge', {}]);
    const fixture = new SessionFixture({ turns: [calls(...six), says('Done.')], tools: [huge] });
    fixture.session.board.submit(userTask);
    expect(await fixture.session.run()).toMatchObject({ status: 'failed' });
    expect(called).toBe(4);
    expect(fixture.results).toEqual([
      'error: the conversation holds more than 33554432 characters, which no model takes',
    ]);
  });

  it('counts the signatures of thinking and the ids and names of calls among them', async () => {
    const signed = (turn: number): InferenceResponse => ({
      ...calls(['note', {}]),
      content: [
        { type: 'thinking', text: '', signature: 's'.repeat(10 * mebi) },
        { type: 'tool_call', id: `${turn}`, name: 'note', input: {} },
      ],
    });
    let called = 0;
    const note = fakeTool('note', async () => {
      called += 1;
      return passed('');
    });
    const turns = Array.from({ length: 6 }, (_, turn) => signed(turn));
    const fixture = new SessionFixture({ turns, tools: [note] });
    fixture.session.board.submit(userTask);
    expect(await fixture.session.run()).toMatchObject({ status: 'failed' });
    expect(called).toBe(3);
    const call = { type: 'tool_call', id: 'id', name: 'name', input: {} } as const;
    expect(
      conversationLength([
        { role: 'assistant', content: [call] },
        { role: 'tool', toolCallId: 'id', isError: false, content: [{ type: 'text', text: 'text' }] },
      ]),
    ).toBe(14);
  });

  it('rejects a message when those that wait hold 64 Mi characters, whatever queue_depth is', () => {
    const fixture = new SessionFixture({ turns: [], acceptance: { queueDepth: 1000 } });
    const message = { text: 'x'.repeat(10 * mebi), origin: 'message', trust: 'untrusted' } as const;
    const kinds = Array.from({ length: 8 }, () => fixture.session.board.submit(message).kind);
    expect(kinds).toEqual([...Array.from({ length: 6 }, () => 'accepted'), 'rejected', 'rejected']);
    expect(fixture.session.board.submit(userTask).kind).toBe('accepted');
  });

  it('shows a chunk of megabytes in frames of a megabyte, and cuts no character', async () => {
    const text = `${'x'.repeat(mebi - 1)}😀${'y'.repeat(mebi)}`;
    const fixture = new SessionFixture({
      turns: [
        async (_request, call) => {
          call.onText(text);
          return { kind: 'response', response: says(text) };
        },
      ],
    });
    fixture.session.board.submit(userTask);
    await fixture.session.run();
    const { frames } = fixture.stream.replayFrom(0n);
    expect(frames.filter((frame) => frame.isStored).map((frame) => frame.storedLength > mebi / 2)).toEqual([
      true,
      true,
    ]);
    const lengths = fixture.lines.filter((line) => line.includes(' text ') && line.endsWith('false')).length;
    expect(lengths).toBe(3);
  });
});
