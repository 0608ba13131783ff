import { describe, expect, it } from 'vitest';

import { CodexDecoder } from './codex.ts';

const decode = (...lines: readonly unknown[]): unknown[] => {
  const decoder = new CodexDecoder();
  return lines.flatMap((line) => decoder.decode(line));
};
const item = (type: string, more: object = {}) => ({ type: 'item.completed', item: { id: 'i', type, ...more } });

describe('a line of codex', () => {
  it('answers with the last message, and without a thread or a usage where it has none', () => {
    expect(
      decode(item('agent_message', { text: 'a' }), item('agent_message', { text: 'b' }), { type: 'turn.completed' }),
    ).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'text', text: '\n\nb' },
      { kind: 'response', response: { content: [{ type: 'text', text: 'b' }], stopReason: 'end_turn' } },
    ]);
  });

  it.each([
    ['command_execution', 'ran a command of its own'],
    ['file_change', 'changed files by itself'],
    ['web_search', 'searched the web by itself'],
  ])('shows that the program acted past the capsule: %s', (type, act) => {
    expect(decode(item(type, { command: 'ls', status: 'completed' }))).toEqual([
      { kind: 'thinking', text: `[codex ${act}]` },
    ]);
  });

  it('gives nothing for a call that the capsule carried out, a plan, or an unknown type', () => {
    const started = { type: 'item.started', item: { id: 'i', type: 'mcp_tool_call' } };
    const lines = [started, item('mcp_tool_call'), item('todo_list'), item('error', { message: 'x' }), { type: 'a.b' }];
    expect(decode(...lines, { type: 'turn.started' }, { type: 'error', message: 'Reconnecting... 1/5' })).toEqual([]);
  });

  it.each([
    [[], 'the line must be a block of keys'],
    [{ type: 'thread.started' }, 'thread_id must be text'],
    [{ type: 'turn.completed', usage: { input_tokens: 'many', output_tokens: 1 } }, 'usage.input_tokens must be'],
    [{ type: 'turn.failed', error: 'x' }, 'error must be'],
    [item('agent_message', { text: 5 }), 'item.text must be text'],
  ])('fails the run when a known one has another shape: %j', (line, problem) => {
    expect(decode(line)).toEqual([{ kind: 'failed', error: expect.stringContaining(`another shape: ${problem}`) }]);
  });
});
