import { describe, expect, it } from 'vitest';

import { type ContentBlock, type InferenceResponse, judgeResponse } from './driver.ts';

const call = { type: 'tool_call', id: 'c1', name: 'bash', input: { command: 'ls' } } as const;
const secondCall: ContentBlock = { type: 'tool_call', id: 'c2', name: 'git', input: {} };

function named(name: string): ContentBlock {
  return { ...call, name };
}

function withId(id: string): ContentBlock {
  return { ...call, id };
}

function response(stopReason: string, content: readonly ContentBlock[] = []): InferenceResponse {
  return { stopReason, content };
}

describe('judging a response', () => {
  it.each(['end_turn', 'max_tokens'])('completes the task on %s with the text blocks joined by newlines', (reason) => {
    const content: readonly ContentBlock[] = [
      { type: 'text', text: 'one' },
      { type: 'thinking', text: 'unseen' },
      { type: 'text', text: 'two' },
    ];
    expect(judgeResponse(response(reason, content))).toEqual({ kind: 'complete', reply: 'one\ntwo' });
    expect(judgeResponse(response(reason))).toEqual({ kind: 'complete', reply: '' });
    expect(judgeResponse(response(reason, [call]))).toEqual({ kind: 'complete', reply: '' });
  });

  it('gives the calls of a tool_call stop in their order', () => {
    const content: readonly ContentBlock[] = [call, { type: 'text', text: 'and' }, secondCall];
    expect(judgeResponse(response('tool_call', content))).toEqual({ kind: 'calls', calls: [call, secondCall] });
  });

  it('fails a tool_call stop without a call', () => {
    expect(judgeResponse(response('tool_call', [{ type: 'text', text: 'soon' }]))).toEqual({
      kind: 'failed',
      error: 'the driver announced a tool call and gave none',
    });
  });

  it.each([
    ['1,025 calls', 'more than 1024 tool calls at once', Array.from({ length: 1_025 }, () => call)],
    ['a name of megabytes', 'a tool call with a name of more than 4096 characters', [named('n'.repeat(4_097))]],
    ['an id of megabytes', 'a tool call with an id of more than 65536 characters', [withId('i'.repeat(65_537))]],
  ])('fails %s, which frames and trace would repeat', (_, what, content) => {
    expect(judgeResponse(response('tool_call', content))).toEqual({ kind: 'failed', error: `the driver gave ${what}` });
  });

  it('fails a continuation id that no provider gives, and takes one that is as long as may be', () => {
    const continued = (continuationId: string): InferenceResponse => ({ ...response('end_turn'), continuationId });
    expect(judgeResponse(continued('c'.repeat(65_537)))).toEqual({
      kind: 'failed',
      error: 'the driver gave a continuation id of more than 65536 characters',
    });
    expect(judgeResponse(continued('c'.repeat(65_536))).kind).toBe('complete');
    const longest = [named('n'.repeat(4_096)), withId('i'.repeat(65_536))];
    expect(judgeResponse(response('tool_call', longest))).toEqual({ kind: 'calls', calls: longest });
  });

  it('fails an error stop with its text', () => {
    const overloaded = { ...response('error'), error: 'overloaded' };
    expect(judgeResponse(overloaded)).toEqual({ kind: 'failed', error: 'overloaded' });
    expect(judgeResponse(response('error'))).toEqual({
      kind: 'failed',
      error: 'the driver reported an error without a text',
    });
    expect(judgeResponse({ ...response('error'), error: '' })).toEqual({
      kind: 'failed',
      error: 'the driver reported an error without a text',
    });
  });

  it.each([
    ['refusal', '"refusal"'],
    ['', '""'],
    ['END_TURN', '"END_TURN"'],
    ['constructor', '"constructor"'],
    ['x'.repeat(200), `"${'x'.repeat(100)}…"`],
  ])('fails the unknown stop reason %j', (reason, named) => {
    expect(judgeResponse(response(reason))).toEqual({
      kind: 'failed',
      error: `the driver gave an unknown stop reason: ${named}`,
    });
  });
});
