import { describe, expect, it } from 'vitest';

import type { SessionId } from '@svc/protocol/ids.ts';
import { parseRunLine } from './run-line.ts';

const sessionId = 'ses_000102030405060708090a0b0c0d0e0f' as SessionId;
const expected = { name: 'worker', version: '1.2.3', sessionId };
const line = {
  url: 'localhost:40123',
  pid: 7,
  session_id: sessionId,
  name: 'worker',
  version: '1.2.3',
  workdir: '/w',
};

describe('the first line of a child', () => {
  it('tells its door, which is on this machine', () => {
    const reading = parseRunLine(JSON.stringify(line), expected);
    expect(reading).toEqual({
      kind: 'ready',
      line: { endpoint: new URL('http://127.0.0.1:40123/') },
    });
  });

  it('is that of the session it was told to be', () => {
    const other = { ...line, session_id: 'ses_ffffffffffffffffffffffffffffffff' };
    expect(parseRunLine(JSON.stringify(other), expected)).toEqual({
      kind: 'unusable',
      reason: 'the session_id of its first line is not the one it was given',
    });
  });

  it('may hold more than that', () => {
    expect(parseRunLine(JSON.stringify({ ...line, url: '127.0.0.1:1', more: 1 }), expected).kind).toBe('ready');
  });

  it.each([
    'example.org:80',
    'localhost',
    'localhost:0',
    'localhost:65536',
    'localhost:99999',
    'localhost:80@example.org',
    'localhost:80/path',
    'http://localhost:80',
    '0.0.0.0:80',
    '10.0.0.1:80',
    'localhost:80\n',
  ])('names no address elsewhere: %j', (url) => {
    expect(parseRunLine(JSON.stringify({ ...line, url }), expected)).toEqual({
      kind: 'unusable',
      reason: 'the url of its first line is no port of this machine',
    });
  });

  it('is repeated briefly and printably when it is none', () => {
    expect(parseRunLine(`\u001b[2J${'x'.repeat(100)}`, expected)).toEqual({
      kind: 'unusable',
      reason: `the first line it printed is no JSON object: "\\u{1b}[2J${'x'.repeat(56)}…"`,
    });
  });
});
