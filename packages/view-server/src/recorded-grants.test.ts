import { describe, expect, it } from 'vitest';

import { grantedIn } from './recorded-grants.ts';

const line = (grants: object, tools: readonly string[] = []): string =>
  JSON.stringify({ event_type: 'session_start', tools_declared: tools, effective_grants: grants });

describe('the list of the grants of a session', () => {
  it('has a row each, with what uses it', () => {
    const { rows, limits } = grantedIn(
      line(
        {
          shell_allow: ['git', 'jq'],
          spawn_allow: ['reviewer@1.0.0'],
          network_allow: ['api.example.com:443'],
          env_allow: ['CI'],
          project_text: { path: 'AGENTS.md', bytes: 40_000, sha256: 'x', truncated: true },
          host_read: ['/opt/sdk'],
          plan_submit: true,
          preopens: [
            { artifact: 'svc-tool-editor', runtime: 'tool', path: '.', writable: true },
            {
              artifact: 'svc-hook-debug',
              runtime: 'hook',
              path: null,
              writable: false,
              state: ['seen'],
              runs: ['node'],
            },
          ],
          limits: [
            { resource: 'processes', of: 'session', max: 1280, held_by: 'cgroup-v2' },
            { resource: 'memory', of: 'session', max: 2_147_483_648, held_by: 'cgroup-v2' },
            { resource: 'memory', of: 'program', max: null, held_by: 'nothing' },
          ],
        },
        ['git', 'svc-tool-editor', 'submit-plan', 'delegate'],
      ),
      '',
    );
    expect(rows.map(({ kind, what, use }) => [kind, what, use])).toEqual([
      ['Command', 'git', ['command', 'git']],
      ['Command', 'jq', ['command', 'jq']],
      ['Rules of the folder', 'AGENTS.md, 40.0 KB, fenced before the task: its first 32 KiB', null],
      ['Files of the tool', 'svc-tool-editor: the workdir, read and write', ['tool', 'svc-tool-editor']],
      ['Files of the hook', 'svc-hook-debug: no files; state: seen; runs: node', null],
      ['Network', 'api.example.com:443', ['connection', 'api.example.com:443']],
      ['Child', 'reviewer@1.0.0', ['child', 'reviewer']],
      ['Files of the host', '/opt/sdk, read', null],
      ['Variable', 'CI', null],
      ['Plans', 'several calls at once', ['tool', 'submit-plan']],
      ['Tool', 'delegate', ['tool', 'delegate']],
    ]);
    expect(limits).toEqual([
      'processes of a session: 1,280, held by cgroup-v2',
      'memory of a session: 2.1 GB, held by cgroup-v2',
      'memory of a program: no limit',
    ]);
  });

  it('says what the server of a tool calls it, and finds the line that renames it', () => {
    const manifest = 'artifacts:\n  - name: linear\n    tools: [{ get_issue: issue }]\n';
    const { rows } = grantedIn(line({ renamed_tools: { linear__issue: 'get_issue' } }, ['linear__issue']), manifest);
    expect(rows).toMatchObject([
      { kind: 'Tool', what: 'linear__issue, get_issue of its server', line: 3, use: ['tool', 'linear__issue'] },
    ]);
  });

  it('has a row for a grant that is given or not and given, also for one that this version does not know', () => {
    const flags = {
      workdir_exec: true,
      read_only: true,
      unix_sockets: false,
      plan_submit: true,
      constructor: true,
      later_flag: 1,
      new_flag: true,
    };
    const { rows } = grantedIn(line(flags), 'filesystem:\n  workdir_exec: true\n');
    expect(rows.map(({ kind, what, line: asked }) => [kind, what, asked])).toEqual([
      ['Programs', 'those that the agent writes may run', 2],
      ['Plans', 'several calls at once', null],
      ['Grant', 'constructor', null],
      ['Grant', 'new_flag', null],
    ]);
  });

  it('has a row for each entry of a list that this version does not know', () => {
    const { rows } = grantedIn(
      line({ env_allow: ['CI'], some_allow: ['one', 'two'], other_list: ['three'], none_allow: 4 }),
      '',
    );
    expect(rows.map(({ kind, what }) => [kind, what])).toEqual([
      ['Variable', 'CI'],
      ['Grant', 'some_allow: one'],
      ['Grant', 'some_allow: two'],
    ]);
  });

  it.each([
    ['localhost', 'localhost'],
    ['http://127.0.0.1:45877', '127.0.0.1:45877'],
    ['https://example.com', 'example.com:443'],
    ['http://example.com', 'example.com:80'],
    ['[::1]', '[::1]'],
    ['https://[::1]', '[::1]:443'],
  ])('counts its connections where it is %s', (place, name) => {
    expect(grantedIn(line({ network_allow: [place] }), '').rows[0]?.use).toEqual(['connection', name]);
  });

  it('points to the first line with its word in its section', () => {
    const manifest =
      'name: git\ncapabilities:\n  shell:\n    allow:\n      - github\n      - git\n  env: { allow: [CI] }\n';
    const { rows } = grantedIn(line({ shell_allow: ['git'], env_allow: ['CI'], spawn_allow: ['git'] }), manifest);
    expect(rows.map(({ kind, line: number }) => [kind, number])).toEqual([
      ['Command', 6],
      ['Child', null],
      ['Variable', 7],
    ]);
    const scope = 'capabilities:\n  filesystem:\n    scope: .\n    workdir_exec: true\n';
    expect(grantedIn(line({ workdir_exec: true }), scope).rows[0]?.line).toBe(4);
    expect(grantedIn(line({ shell_allow: ['sh'] }), 'shell: { allow: [sh] }').rows[0]?.line).toBe(1);
  });

  it.each([
    [{ git: { path: '/repo/.git', writable: false, around: '/repo' } }, '/repo/.git, read; names of files in /repo'],
    [{ git: { path: '/repo/.git', writable: true, around: null } }, '/repo/.git, read and write'],
    [{ closed_git: { path: '/lent/objects', why: 'lends objects' } }, 'git does not work: /lent/objects lends objects'],
    [{ git: 7, closed_git: [] }, undefined],
  ])('says where git has its data from: %j', (given, what) => {
    const { rows } = grantedIn(line({ project_folder: { path: '/repo/a', writable: false, ...given } }), '');
    expect(rows.find(({ kind }) => kind === 'Repository')?.what).toBe(what);
  });

  it('has a thousand rows at most, and says how many more there are', () => {
    const names = (kind: string): string[] => Array.from({ length: 500 }, (_, at) => `${kind}${at}`);
    const { rows } = grantedIn(line({ shell_allow: names('s'), spawn_allow: names('c'), env_allow: names('e') }), '');
    expect([rows.length, rows[999]?.what, rows[1000]]).toEqual([
      1001,
      'c499',
      { kind: 'Grant', what: '500 more', line: null, use: null },
    ]);
  });

  it('covers the first 5000 lines of a manifest', () => {
    const manifest = `shell:\n${'\n'.repeat(4998)}  - git\n  - jq\n`;
    const { rows } = grantedIn(line({ shell_allow: ['git', 'jq'] }), manifest);
    expect(rows.map(({ line: number }) => number)).toEqual([5000, null]);
  });

  it('takes at most a moment of search in a manifest that was made for that', () => {
    const words = Array.from({ length: 498 }, (_, at) => `${'a'.repeat(296)}${String(at).padStart(3, '0')}`);
    const manifest = `shell:\n${`${'a'.repeat(3900)}\n`.repeat(50)}  - last\n`;
    const { rows } = grantedIn(line({ shell_allow: ['last', ...words, 'last'] }), manifest);
    expect(rows.map(({ line: number }) => number)).toEqual([52, ...words.map(() => null), null]);
  });

  it.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['of other forms', line({ shell_allow: 'git', preopens: 7, limits: {}, project_folder: [], env_allow: [7] })],
  ])('stays empty where the line is %s', (_what, text) => {
    expect(grantedIn(text, 'shell: x')).toEqual({ rows: [], limits: [] });
  });
});
