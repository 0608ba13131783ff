import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, count, text } from '../test/both-ways.ts';
import { decodeRunLine, encodeRunLine } from './run-line.ts';

describe('what a run says first', () => {
  it('has the shape of the line of a run', () => {
    const facts = { url: text, pid: count, sessionId: text, name: text, version: text, workdir: text };
    bothWays(fc.record(facts), (line) => decodeRunLine(encodeRunLine(line)));
    const line = { url: 'localhost:1', pid: 2, sessionId: 's', name: 'n', version: 'v', workdir: '/w' };
    expect(encodeRunLine(line)).toBe(
      '{"url":"localhost:1","pid":2,"session_id":"s","name":"n","version":"v","workdir":"/w"}',
    );
    expect(decodeRunLine('{"pid":1.5}')).toEqual({
      url: null,
      pid: null,
      sessionId: null,
      name: null,
      version: null,
      workdir: null,
    });
    expect(decodeRunLine('[]')).toBeNull();
  });
});
