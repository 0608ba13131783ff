import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { renderReportOnly, renderScopeReport } from './scope-report.ts';

const nothingGranted: ScopeObject = {
  containment: {
    declared: 'advisory',
    achieved: 'sealed',
    floor_met: true,
    mechanism: 'mountns+pivot_root+landlock+seccomp',
    userns_grant: 'granted',
  },
  filesystem_scope: null,
  workdir_exec: false,
  read_only: false,
  preopens: [],
  network_allow: [],
  unix_sockets: false,
  shell_allow: [],
  spawn_allow: [],
  env_allow: [],
  plan_submit: false,
  interpreter_runtime: [],
  staged_runtime: [],
  limits: [
    { resource: 'processes', of: 'session', max: 128, held_by: 'user-namespace' },
    { resource: 'memory', of: 'program', max: 2147483648, held_by: 'rlimit' },
    { resource: 'memory', of: 'session', max: null, held_by: 'none' },
  ],
};

const muchGranted: ScopeObject = {
  containment: {
    declared: 'scoped',
    achieved: 'advisory',
    floor_met: false,
    mechanism: 'none',
    userns_grant: 'n/a',
  },
  filesystem_scope: 'out/reports',
  workdir_exec: true,
  read_only: true,
  preopens: [
    { artifact: 'svc-tool-editor', runtime: 'tool', path: 'out/reports', writable: true },
    { artifact: 'reader', runtime: 'tool', path: '.', writable: false },
    { artifact: 'watcher', runtime: 'hook', path: null, writable: false },
    { artifact: 'svc-driver-openai', runtime: 'driver', path: '.', writable: true },
  ],
  network_allow: ['a.example', 'https://b.example:8443'],
  unix_sockets: true,
  shell_allow: ['sh', 'git'],
  spawn_allow: ['helper', 'other'],
  env_allow: ['LANG', 'TZ'],
  plan_submit: true,
  interpreter_runtime: ['sh'],
  staged_runtime: ['svc-tool-editor@1.0.0', 'style@2.0.0'],
  limits: [{ resource: 'processes', of: 'session', max: 128, held_by: 'none' }],
};

/** The block without its last section. */
function documented(scope: ScopeObject): string {
  return renderScopeReport(scope).split('\n\nLimits\n')[0] ?? '';
}

describe('the scope report', () => {
  it('has the fields of both sections in their order, a line for each preopen [D1-SCOPE-04] [D1-SCOPE-06] [D1-SCOPE-07]', () => {
    expect(documented(muchGranted)).toBe(`Containment
  declared:      scoped
  achieved:      advisory
  floor met:     no
  mechanism:     none
  userns grant:  n/a

Effective grants
  filesystem scope:     out/reports
  workdir exec:         yes
  read_only:            yes
  preopens:             svc-tool-editor (tool)      out/reports, read and write
                        reader (tool)               (the whole workdir), read only
                        watcher (hook)              (none)
                        svc-driver-openai (driver)  (the whole workdir), read and write
  network allow:        a.example, https://b.example:8443
  unix sockets:         yes
  shell allow:          sh, git
  spawn allow:          helper, other
  env allow:            LANG, TZ
  plan submit:          yes
  interpreter runtime:  sh
  staged runtime:       svc-tool-editor@1.0.0, style@2.0.0`);
  });

  it('has the state stores of an artifact in its line', () => {
    const preopens = [
      { artifact: 'a', runtime: 'tool', path: 'out', writable: false, state: ['x', 'y'] },
      { artifact: 'b', runtime: 'hook', path: null, writable: false, state: ['x'] },
    ] as const;
    expect(documented({ ...muchGranted, preopens })).toContain(`
  preopens:             a (tool)  out, read only; the state store x, read and write; the state store y, read and write
                        b (hook)  the state store x, read and write
`);
  });

  it('names the variables that entries of artifacts set, and no value', () => {
    const set = { notes: ['API_KEY', 'LOG_LEVEL'], other: ['X'] };
    expect(documented({ ...muchGranted, tool_variables: set })).toMatch(
      /^ {2}variables set: +notes: API_KEY LOG_LEVEL\n +other: X\n/m,
    );
  });

  it('names the MCP servers on the web, and the variables that hold what they are shown', () => {
    const servers = [
      { artifact: 'web', url: 'https://a.example/mcp', auth: 'WEB_TOKEN' },
      { artifact: 'open', url: 'https://b.example/mcp', auth: null },
      { artifact: 'mine', url: 'https://c.example/mcp', auth: 'login' },
    ];
    expect(documented({ ...muchGranted, mcp_servers: servers })).toMatch(
      /^ {2}mcp servers: +web https:\/\/a\.example\/mcp \(shown WEB_TOKEN\)\n +open https:\/\/b\.example\/mcp \(shown nothing\)\n +mine https:\/\/c\.example\/mcp \(login of this user\)\n/m,
    );
  });

  it('names the tools of servers that have another name here', () => {
    const renamed = { linear__issue: 'get_issue', linear__issues: 'list_issues' };
    expect(documented({ ...muchGranted, renamed_tools: renamed })).toMatch(
      /^ {2}tools renamed: +linear__issue: get_issue of its server\n +linear__issues: list_issues of its server\n/m,
    );
  });

  it('has a line for each rule about what a person approves, and one for how far those about commands reach', () => {
    const rules = [{ ask: { command: ['git', 'push', '**'] } }, { deny: { spawn: 'deployer' } }];
    const approvals = { default: 'allow', opaque: 'ask', rules } as const;
    const lines =
      /^ {2}approvals: +allow by default, ask for lines that cannot be read for sure\n +ask {"command":\["git","push","\*\*"\]}\n +deny {"spawn":"deployer"}\n +(.*)\n/m;
    const reachIn = (achieved: 'advisory' | 'scoped'): string | undefined =>
      lines.exec(documented({ ...muchGranted, approvals, containment: { ...muchGranted.containment, achieved } }))?.[1];
    expect(reachIn('scoped')).toBe('ask and deny of commands are also about programs that commands start');
    expect(reachIn('advisory')).toBe(
      'programs that commands start cannot be judged in this class: a capsule that has programs does not start',
    );
    const without = { ...approvals, rules: [{ deny: { spawn: 'deployer' } }] };
    expect(documented({ ...muchGranted, approvals: without })).not.toContain('programs that commands start');
  });

  it('names the skills that were found, with their folders', () => {
    const found = { pdf: './.agents/skills/pdf', tone: './.claude/skills/Tone' };
    expect(documented({ ...muchGranted, discovered_skills: found })).toMatch(
      /^ {2}skills found: +pdf of \.\/\.agents\/skills\/pdf\n +tone of \.\/\.claude\/skills\/Tone\n/m,
    );
  });

  it('names the paths of the host, where there are any', () => {
    expect(documented({ ...muchGranted, host_read: ['/opt/sdk', '/srv/data'] })).toMatch(
      /^ {2}env allow: +LANG, TZ\n {2}host read: +\/opt\/sdk, \/srv\/data\n/m,
    );
  });

  it('says so where nothing is granted, and that a floor is met [D1-SCOPE-04]', () => {
    expect(documented(nothingGranted)).toBe(`Containment
  declared:      advisory
  achieved:      sealed
  floor met:     yes
  mechanism:     mountns+pivot_root+landlock+seccomp
  userns grant:  granted

Effective grants
  filesystem scope:     (the whole workdir)
  workdir exec:         no
  read_only:            no
  preopens:             (none)
  network allow:        (none)
  unix sockets:         no
  shell allow:          (none)
  spawn allow:          (none)
  env allow:            (none)
  plan submit:          no
  interpreter runtime:  (none)
  staged runtime:       (none)`);
  });

  it('says of each limit by what it is held here', () => {
    expect(renderScopeReport(nothingGranted).split('\n\n')[2]).toBe(`Limits
  processes of a session:  128, held by user-namespace
  memory of a program:     2147483648 bytes, held by rlimit
  memory of a session:     no limit`);
  });

  it('ends with what is not stopped, a line for each sentence', () => {
    expect(renderScopeReport(nothingGranted).split('\n\n')[3]).toBe(`Not stopped
  - Code that was never a file can run: a script by its interpreter, instructions that a program writes into its memory.
  - Memory and processor time are limited for each process: what processes share does not count, and many together can take more.
  - workdir_max_bytes is measured when a task begins and after tool calls: within one command more can be written, and removed again.
  - Files that were removed do not count toward workdir_max_bytes while the program that holds them hides its descriptors, one of these is on its way through a socket, or the path was longer than 4,096 bytes and the program has detached itself.
  - A bug of the kernel can undo all of this.
`);
  });

  it('spells out what a terminal would act on', () => {
    const text = renderScopeReport({ ...nothingGranted, filesystem_scope: 'a\u001B[2Jb\nfloor met: yes' });
    expect(text).toContain('  filesystem scope:     a\\u{1b}[2Jb\\u{a}floor met: yes\n');
  });
});

describe('the last line of a report on a launch that would be refused', () => {
  it('names every reason in one line', () => {
    const refusals = [
      new Diagnostic('E-CAP-003', 'the floor\nis not met', { hint: 'lower it' }),
      new Diagnostic('E-RUN-025', 'artifacts[0] is a hook'),
    ];
    expect(renderReportOnly(refusals)).toBe(
      'this is a report only: svc run would be refused (E-CAP-003, the floor\\u{a}is not met; E-RUN-025, artifacts[0] is a hook)\n',
    );
  });
});
