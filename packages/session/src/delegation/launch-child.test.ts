import { describe, expect, it } from 'vitest';

import type { ContextId, DelegationId, SessionId } from '@svc/protocol/ids.ts';
import { childEnvironment, parseRunLine } from './launch-child.ts';

const handle = {
  url: 'http://127.0.0.1:1',
  session_id: 'ses_1' as SessionId,
  context_id: 'ctx_1' as ContextId,
  trust: 'trusted',
  delegation_id: 'dlg_1' as DelegationId,
} as const;

const spelled =
  '{"url":"http://127.0.0.1:1","session_id":"ses_1","context_id":"ctx_1","trust":"trusted","delegation_id":"dlg_1"}';

const nothing = { env: {}, parentAllow: [], childAllow: [], refereeUrl: 'http://127.0.0.1:7700', handle: null };

describe('the environment of a child', () => {
  it('holds the four names of the runtime and nothing else of the parent [D2-ENV-01] [D2-ENV-02] [D2-ENV-03] [D2-ENV-04]', () => {
    const env = { PATH: '/bin', HOME: '/home/a', SECRET: 's', SVC_BINARY: '/x', SVC_SESSION_ID: 'ses_2' };
    expect(childEnvironment({ ...nothing, env, handle })).toEqual({
      PATH: '/bin',
      HOME: '/home/a',
      SVC_REFEREE_URL: 'http://127.0.0.1:7700',
      SVC_SPAWNER: spelled,
    });
  });

  it('has no handle for a child that reports to nobody', () => {
    const env = { PATH: '/bin', HOME: '/home/a', SVC_SPAWNER: spelled };
    const allow = { parentAllow: ['SVC_SPAWNER'], childAllow: ['SVC_SPAWNER'] };
    expect(childEnvironment({ ...nothing, ...allow, env })).not.toHaveProperty('SVC_SPAWNER');
  });

  it('holds a name that both manifests have and the parent holds, empty values too [D2-ENV-05] [D2-ENV-07]', () => {
    const env = { BOTH: 'b', EMPTY: '', CHILD: 'c', PARENT: 'p' };
    const parentAllow = ['BOTH', 'EMPTY', 'PARENT', 'ABSENT'];
    const childAllow = ['BOTH', 'EMPTY', 'CHILD', 'ABSENT', 'toString'];
    expect(childEnvironment({ ...nothing, env, parentAllow, childAllow })).toEqual({
      BOTH: 'b',
      EMPTY: '',
      SVC_REFEREE_URL: 'http://127.0.0.1:7700',
    });
  });

  it('compares names with their case', () => {
    const env = { token: 't' };
    const allow = { parentAllow: ['TOKEN'], childAllow: ['token'] };
    expect(childEnvironment({ ...nothing, ...allow, env })).not.toHaveProperty('token');
  });

  it('lets no manifest displace the names of the runtime', () => {
    const names = ['PATH', 'HOME', 'SVC_REFEREE_URL', 'SVC_SPAWNER'];
    const env = { PATH: '/bin', HOME: '/h', SVC_REFEREE_URL: 'http://evil', SVC_SPAWNER: '{}' };
    expect(childEnvironment({ ...nothing, env, handle, parentAllow: names, childAllow: names })).toEqual({
      PATH: '/bin',
      HOME: '/h',
      SVC_REFEREE_URL: 'http://127.0.0.1:7700',
      SVC_SPAWNER: spelled,
    });
  });

  it('hands on no handle of its own parent to a child that reports to nobody', () => {
    const names = ['SVC_SPAWNER'];
    const env = { SVC_SPAWNER: '{}' };
    expect(childEnvironment({ ...nothing, env, handle: null, parentAllow: names, childAllow: names })).toEqual({
      SVC_REFEREE_URL: 'http://127.0.0.1:7700',
    });
  });

  it('takes names that mean something to JavaScript as names', () => {
    const env = Object.fromEntries([['__proto__', 'p']]);
    const allow = { parentAllow: ['__proto__', 'constructor'], childAllow: ['__proto__', 'constructor'] };
    expect(Object.entries(childEnvironment({ ...nothing, ...allow, env }))).toEqual([
      ['__proto__', 'p'],
      ['SVC_REFEREE_URL', 'http://127.0.0.1:7700'],
    ]);
  });
});

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
  it('names its door on this machine', () => {
    const reading = parseRunLine(JSON.stringify(line), expected);
    expect(reading).toEqual({
      kind: 'ready',
      endpoint: new URL('http://127.0.0.1:40123/'),
    });
  });

  it('must name the session that the parent started', () => {
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
      reason: 'the url of its first line is not a port of this machine',
    });
  });

  it('appears in the error, short and printable, when it is invalid', () => {
    expect(parseRunLine(`\u001b[2J${'x'.repeat(100)}`, expected)).toEqual({
      kind: 'unusable',
      reason: `the first line it printed is not a JSON object: "\\u{1b}[2J${'x'.repeat(56)}…"`,
    });
  });
});
