import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, task, text, wired } from '../test/both-ways.ts';
import { encodeAnswer, parseAnswer } from './question.ts';

describe('an answer to a question', () => {
  it('has an id, a wait and a text', () => {
    expect(JSON.stringify(encodeAnswer({ taskId: 'tsk_1', waitId: 'q2', text: 'Blue.' }))).toBe(
      '{"id":"tsk_1","wait":"q2","text":"Blue."}',
    );
  });

  it('says what was written', () => {
    expect.hasAssertions();
    bothWays(fc.record({ taskId: task, waitId: text, text }), (answer) => {
      const parsed = parseAnswer(wired(encodeAnswer(answer)));
      return parsed.kind === 'answer' ? parsed.answer : parsed;
    });
  });

  it('holds no half of a character', () => {
    expect(parseAnswer({ id: 'tsk_1', wait: 'q1', text: 'a\ud800b' })).toEqual({
      kind: 'answer',
      answer: { taskId: 'tsk_1', waitId: 'q1', text: 'a\ufffdb' },
    });
  });

  it.each([
    [undefined, 'params must be an object'],
    [[], 'params must be an object'],
    [{ wait: 'q1', text: '' }, 'id must be a string'],
    [{ id: 'tsk_1', wait: 1, text: '' }, 'wait must be a string'],
    [{ id: 'tsk_1', wait: 'q1' }, 'text must be a string'],
  ])('%j is refused: %s', (params, problem) => {
    expect(parseAnswer(params)).toEqual({ kind: 'invalid', problem });
  });
});
