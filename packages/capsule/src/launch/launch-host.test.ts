import { describe, expect, it } from 'vitest';

import { delegationOfLaunch } from './launch-host.ts';

const handle = {
  url: 'http://localhost:4100',
  session_id: 'ses_00112233445566778899aabbccddeeff',
  context_id: 'ctx_1',
  trust: 'untrusted',
  delegation_id: 'dlg_0190a1b2c3d4e5f60718293a4b5c6d7e',
};

interface Read {
  readonly refereeUrl: string | null;
  readonly spawner: unknown;
  readonly refusals: readonly string[];
}

function read(
  { spawnAllow = [], ...env }: Record<string, unknown> & { spawnAllow?: string[] },
  processEnv: Record<string, string> = {},
): Read {
  const held = { ...(env as Record<string, string>), ...processEnv };
  const { refusals, ...read } = delegationOfLaunch({ spawnAllow, env: held, processEnv });
  return { ...read, refusals: refusals.map(({ code, message }) => `${code} ${message}`) };
}

describe('SVC_REFEREE_URL', () => {
  it.each([undefined, '', ' \t'])('%j is refused to a capsule that may delegate', (url) => {
    const env = url === undefined ? {} : { SVC_REFEREE_URL: url };
    expect(read({ ...env, spawnAllow: ['helper'] }).refusals).toEqual([
      'E-RUN-019 capabilities.spawn.allow needs a referee, and SVC_REFEREE_URL is not set',
    ]);
    expect(read(env).refusals).toEqual([]);
  });

  it.each(['7700', 'ftp://127.0.0.1:7700', 'http://referee.example:7700', 'http://127.0.0.1:7700/?a=b'])(
    '%j is no address of a referee',
    (url) => {
      expect(read({ SVC_REFEREE_URL: url, spawnAllow: ['helper'] }).refusals).toEqual([
        expect.stringMatching(/^E-RUN-019 capabilities\.spawn\.allow needs a referee, and SVC_REFEREE_URL must/),
      ]);
    },
  );

  it('stays as it is given', () => {
    expect(read({ SVC_REFEREE_URL: 'http://127.0.0.1:7700', spawnAllow: ['helper'] })).toEqual({
      refereeUrl: 'http://127.0.0.1:7700',
      spawner: null,
      refusals: [],
    });
  });
});

describe('SVC_SPAWNER', () => {
  it('holds the handle of a delegated capsule [D2-HANDLE-01]', () => {
    expect(read({}, { SVC_SPAWNER: JSON.stringify(handle) }).spawner).toEqual(handle);
    expect(read({}).spawner).toBeNull();
  });

  it('comes from the process environment alone [D2-VAR-03]', () => {
    expect(read({ SVC_SPAWNER: JSON.stringify(handle) }).spawner).toBeNull();
  });

  it.each([
    ['nothing', '', 'it is no JSON object'],
    ['no JSON', '{', 'it is no JSON object'],
    ['no object', '[]', 'it is no JSON object'],
    ['another kind of address', { ...handle, url: 'https://localhost:1' }, 'url is no http://host:port'],
    ['an address without a port', { ...handle, url: 'http://localhost' }, 'url is no http://host:port'],
    ['an address with a path', { ...handle, url: 'http://localhost:1/a' }, 'url is no http://host:port'],
    ['an address with a user', { ...handle, url: 'http://a@localhost:1' }, 'url is no http://host:port'],
    ['no session', { ...handle, session_id: 'ses_1' }, 'session_id is no session id'],
    ['an empty context', { ...handle, context_id: '' }, 'context_id is missing'],
    ['another trust', { ...handle, trust: 'Trusted' }, 'trust is neither trusted nor untrusted'],
    ['a bare id', { ...handle, delegation_id: 'dlg' }, 'delegation_id does not begin with dlg_'],
    [
      'an id that would end a header',
      { ...handle, delegation_id: 'dlg_1\r\nx: y' },
      'delegation_id does not begin with dlg_',
    ],
    ['a number', { ...handle, trust: 1 }, 'trust is neither trusted nor untrusted'],
  ])('fails with %s', (_what, value, problem) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    expect(read({}, { SVC_SPAWNER: text }).refusals).toEqual([
      `E-RUN-020 SVC_SPAWNER cannot be read as a spawner handle: ${problem}`,
    ]);
  });
});
