import { describe, expect, it } from 'vitest';

import { answer } from './request-input-tool.ts';

describe('asking for input', () => {
  it('passes the prompt on and the answer back', () => {
    const asked: string[] = [];
    const output = answer('{"prompt":"Which colour?"}', (prompt) => {
      asked.push(prompt);
      return { answer: 'blue' };
    });
    expect(asked).toEqual(['Which colour?']);
    expect(output).toEqual({ status: 'passed', content: 'blue', truncated: false });
  });

  it('fails with the reason when there is no answer', () => {
    expect(answer('{"prompt":"Well?"}', () => ({ refusal: 'input-timeout' }))).toEqual({
      status: 'failed',
      content: 'input-timeout',
      truncated: false,
    });
  });

  it('does not ask an empty question', () => {
    expect(answer('{"prompt":" "}', () => ({ answer: 'never' })).content).toBe('prompt is missing or empty');
    expect(answer('[]', () => ({ answer: 'never' })).status).toBe('failed');
  });
});
