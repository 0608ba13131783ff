import { describe, expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { loadCapsuleManifest } from './load.ts';
import type { LoadedManifest } from './loaded-manifest.ts';

const capsule = `name: demo
version: 1.0.0
artifacts: [{ name: db, version: 1.0.0, tools: [list, drop] }]
inference: { model: m, driver: { artifact: svc-driver-script } }
lifecycle: { task_acceptance: queue, after_task: sleep, queue_depth: 4 }
capabilities: { shell: { allow: [git, touch] }, spawn: { allow: [deployer] } }
`;

function load(approvals: string, of = capsule): LoadedManifest {
  return loadCapsuleManifest({ file: 'svc.yaml', text: `${of}${approvals}`, env: {} });
}

function problems(approvals: string, of = capsule): readonly string[] {
  try {
    return load(approvals, of).warnings.map(({ code, message }) => `${code} ${message}`);
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(
      ({ code, message, location }) => `${code} ${location?.line}:${location?.column} ${message}`,
    );
  }
}

function rule(text: string): string {
  return `approvals: { default: ask, rules: [${text}] }\n`;
}

describe('approvals of a manifest', () => {
  it('have defaults for all but their rules', () => {
    expect(load('approvals: {}\n').manifest.approvals).toEqual({
      default: 'allow',
      opaque: 'ask',
      timeout: 600,
      answer: ['terminal', 'door', 'acp'],
      rules: [],
    });
    expect(load('').manifest.approvals).toBeUndefined();
    expect(load('approvals: { timeout: 24h }\n').manifest.approvals?.timeout).toBe(86_400);
  });

  it('know a tool of a server by the name that the manifest gives it', () => {
    const renames = capsule.replace('[list, drop]', '[list, { drop: remove }]');
    expect(problems(rule('{ deny: { tool: db__remove } }, { ask: { tool: db__list } }'), renames)).toEqual([]);
    expect(problems(rule('deny: { tool: db__drop }'), renames)).toEqual([
      expect.stringContaining('names "db__drop", which is not among the tools of the capsule') as string,
    ]);
  });

  it('have no pattern in the place of a name, which no call would have', () => {
    const chosen = capsule.replace('[list, drop]', '["l*", drop]');
    expect(problems(rule('deny: { tool: db__drop }'), chosen)).toEqual([]);
    expect(problems(rule('deny: { tool: "db__l*" }'), chosen)).toEqual([
      expect.stringContaining('names "db__l*", which is not among the tools of the capsule') as string,
    ]);
  });

  it('take rules about commands, tools, their arguments and capsules', () => {
    const rules = `approvals:
  default: ask
  rules:
    - allow: { command: [git, "status|diff"] }
    - deny: { command: ["*", "**", -f] }
    - ask: { tool: db }
    - deny: { tool: db__drop, args: { table: users, n: 1, sure: true, why: null } }
    - ask: { spawn: deployer }
    - ask: { tool: delegate-task }
    - ask: { tool: db, path: "config/**", access: write }
    - deny: { tool: db, path: "**/*/x" }
`;
    expect(problems(rules)).toEqual([]);
  });

  it('have every wrong rule reported at once, with line and column', () => {
    const text = `approvals:
  defalt: ask
  timeout: 0s
  rules:
    - allow: { command: [gti, status] }
    - {}
    - ask: { tool: nothing, spawn: deployer }
    - ask: { request: "POST https://example.com/**" }
    - ask: { spend: 1.00 USD, every: 1.00 USD }
    - maybe: { tool: db }
`;
    expect(problems(text)).toEqual([
      'E-APR-001 8:3 defalt of approvals in line 8 is not a known key',
      'E-APR-001 9:12 approvals.timeout must be longer than nothing, not 0',
      'E-APR-001 11:26 approvals.rules[0].allow.command[0] names "gti", which capabilities.shell.allow does not list',
      'E-APR-001 12:7 approvals.rules[1] must have one of allow, ask, deny',
      'E-APR-001 13:12 approvals.rules[2].ask must have one of tool, command, spawn, request',
      'E-APR-001 14:23 approvals.rules[3].ask.request names https://example.com, which capabilities.network.allow does not hold to rules or a credential',
      'E-APR-001 15:14 approvals.rules[4].ask.spend is refused: this version of svc cannot decide by it',
      'E-APR-001 15:31 approvals.rules[4].ask.every is refused: this version of svc cannot decide by it',
      'E-APR-001 16:7 maybe of approvals.rules[5] in line 16 is not a known key',
      'E-APR-001 16:7 approvals.rules[5] must have one of allow, ask, deny',
    ]);
  });

  it.each([
    ['allow: { command: ["**"] }', 'approvals.rules[0].allow.command would allow any program'],
    ['allow: { command: ["*", push] }', 'approvals.rules[0].allow.command would allow any program'],
    ['deny: { command: [git, "**", "**"] }', 'approvals.rules[0].deny.command[2] repeats "**"'],
    ['deny: { command: [git, ""] }', 'approvals.rules[0].deny.command[1] must be a word'],
    ['deny: { command: [git, "a||b"] }', 'approvals.rules[0].deny.command[1] must be a word'],
    ['deny: { command: [git, "origin/*"] }', 'approvals.rules[0].deny.command[1] must be a word'],
    ['deny: { command: [] }', 'approvals.rules[0].deny.command'],
    ['ask: { tool: git }', 'approvals.rules[0].ask.tool names "git", which is not among the tools of the capsule'],
    ['ask: { tool: db__other }', 'approvals.rules[0].ask.tool names "db__other"'],
    ['ask: { tool: share-file }', 'approvals.rules[0].ask.tool names "share-file"'],
    [
      'ask: { spawn: other }',
      'approvals.rules[0].ask.spawn names "other", which is not among capabilities.spawn.allow',
    ],
    ['ask: { command: [git], args: { a: 1 } }', 'approvals.rules[0].ask.args needs tool beside it'],
    [
      'ask: { tool: db, args: { a: [1] } }',
      'approvals.rules[0].ask.args.a must be a text, a number, true, false or null',
    ],
    ['ask: { path: "config/**" }', 'approvals.rules[0].ask must have one of tool, command, spawn, request'],
    ['ask: { command: [git], path: "config/**" }', 'approvals.rules[0].ask.path needs tool beside it'],
    ['ask: { tool: db, args: { a: 1 }, path: x }', 'approvals.rules[0].ask.args cannot stand beside path'],
    [
      'ask: { tool: db__drop, path: x }',
      'approvals.rules[0].ask.tool names "db__drop", which is not among the tools in',
    ],
    ['ask: { tool: svc-driver-script, path: x }', 'approvals.rules[0].ask.tool names "svc-driver-script"'],
    ['ask: { tool: db, access: write }', 'approvals.rules[0].ask.access needs path beside it'],
    ['ask: { tool: db, path: x, access: read }', 'approvals.rules[0].ask.access'],
    ['ask: { tool: db, path: "" }', 'approvals.rules[0].ask.path'],
    ['ask: { tool: db, path: "/etc/x" }', 'approvals.rules[0].ask.path must be a path below'],
    ['ask: { tool: db, path: "a/../b" }', 'approvals.rules[0].ask.path must be a path below'],
    ['ask: { tool: db, path: "a//b" }', 'approvals.rules[0].ask.path must be a path below'],
    ['ask: { tool: db, path: "a/" }', 'approvals.rules[0].ask.path must be a path below'],
    ['ask: { tool: db, path: "*.env" }', 'approvals.rules[0].ask.path must have "*" for one segment'],
    ['ask: { tool: db, path: "a/**/**" }', 'approvals.rules[0].ask.path repeats "**"'],
    ['ask: { tool: db, path: "a\\tb" }', 'approvals.rules[0].ask.path has a control character'],
    ['ask: { tool: db, path: [x] }', 'approvals.rules[0].ask.path'],
    ['ask: { spend: 1 }', 'approvals.rules[0].ask.spend is refused'],
  ])('refuse %s', (text, problem) => {
    const found = problems(rule(text));
    expect(found.every((each) => each.startsWith('E-APR-001 '))).toBe(true);
    expect(found.join('\n')).toContain(problem);
  });

  const held = capsule.replace(
    'capabilities: {',
    'capabilities: { network: { allow: [{ host: "https://api.test", rules: ["* /**"] }, { host: "http://127.0.0.1:99", rules: ["* /**"] }, "https://other.test"] },',
  );

  it('take rules about requests to hosts that are held to rules or a credential', () => {
    const rules = `approvals:
  rules:
    - ask: { request: "POST https://API.test/repos/*/pulls" }
    - deny: { request: "* https://api.test:443/**" }
    - allow: { request: "GET http://127.0.0.1:99/" }
`;
    expect(problems(rules, held)).toEqual([]);
  });

  it.each([
    ['POST https://other.test/x', 'names https://other.test, which capabilities.network.allow does not hold to rules'],
    ['POST https://api.test:8443/x', 'names https://api.test:8443, which'],
    ['POST http://api.test/x', 'names http://api.test, which'],
    ['POST https://api.test', 'is not a method, a host with its scheme, and a path'],
    ['POST api.test/x', 'is not a method, a host with its scheme, and a path'],
    ['post https://api.test/x', 'is not a method and a path'],
    ['POST https://me@api.test/x', 'is not a method, a host with its scheme, and a path'],
    ['POST  https://api.test/x', 'is not a method, a host with its scheme, and a path'],
    ['POST https://api.test/x?y=1', 'has a query, which is not compared'],
    ['POST https://api.test/**/x', 'has a ** that is not last'],
    ['POST https://api.test/a*', 'has a * that is not a whole segment'],
    ['POST https://api.test/a/../b', 'has a path that has a segment of dots'],
    ['PSOT https://api.test/x', 'names the method PSOT, which HTTP does not have'],
    [
      'POST api.test/y',
      'is not a method, a host with its scheme, and a path, such as POST https://api.github.com/repos/**',
    ],
    ['POST https://[::1/x', 'is not a method, a host with its scheme, and a path'],
  ])('refuse a rule about the request %s', (request, problem) => {
    const found = problems(rule(`ask: { request: "${request}" }`), held);
    expect(found).toEqual([expect.stringContaining(`approvals.rules[0].ask.request ${problem}`) as string]);
    expect(found[0]).toMatch(/^E-APR-001 /);
  });

  it('have a request stand alone in its rule', () => {
    const text = rule(
      'ask: { request: "POST https://api.test/x", path: y, args: { a: 1 } }, { ask: { request: "POST https://api.test/x", tool: db } }',
    );
    expect(problems(text, held).join('\n')).toMatch(/ask\.path needs tool.*ask\.args needs tool.*must have one of/s);
  });

  it.each(['bash', 'python3.11', 'node', 'perl'])('refuse to allow %s with any arguments', (program) => {
    const of = capsule.replace('git, touch', `git, ${program}`);
    expect(problems(rule(`allow: { command: [${program}, "**"] }`), of)).toEqual([
      expect.stringMatching(/^E-APR-001 .* would allow anything: .* runs what its arguments say$/),
    ]);
    expect(problems(rule(`allow: { command: [${program}, a.txt] }`), of)).toEqual([]);
  });

  it('may name any program where a shell can start it, and warn of one that looks like a slip', () => {
    const shell = capsule.replace('touch', 'touch, bash');
    expect(problems(rule('ask: { command: [curl, "**"] }'), shell)).toEqual([]);
    expect(problems(rule('deny: { command: ["git|tuoch", "**"] }'), shell)).toEqual([
      'W-APR-009 approvals.rules[0].deny.command[0] names "tuoch", which capabilities.shell.allow does not list',
    ]);
    expect(problems(rule('allow: { command: [tuoch] }'), shell)).toEqual([]);
  });

  it('refuse answers from where none can come, and a driver whose calls nobody sees', () => {
    expect(problems('approvals: { answer: [openai] }\n')[0]).toMatch(
      /^E-APR-001 .* approvals\.answer\[0\] must be one of/,
    );
    const of = capsule.replace(
      '{ model: m, driver: { artifact: svc-driver-script } }',
      '{ transport: process, command: claude }',
    );
    expect(problems('approvals: {}\n', of)).toEqual([
      'E-APR-001 7:1 approvals cannot stand beside inference.transport: process',
    ]);
  });

  it('warn of rules of words alone, and of an allow for what starts other programs', () => {
    const words = '{ ask: { command: [git, push, "**"] } }';
    expect(problems(`approvals: { rules: [${words}] }\n`)).toEqual([expect.stringMatching(/^W-APR-002 /)]);
    const held = 'network: { allow: [{ host: "https://api.test", rules: ["* /**"] }] },';
    const request = '{ ask: { request: "POST https://api.test/**" } }';
    const of = capsule.replace('capabilities: {', `capabilities: { ${held}`);
    expect(problems(`approvals: { rules: [${words}, ${request}] }\n`, of)).toEqual([]);
    expect(problems(rule('allow: { command: [git, "**"] }'))).toEqual([expect.stringMatching(/^W-APR-001 /)]);
    expect(problems(rule('allow: { command: [git, status, "**"] }'))).toEqual([]);
  });
});
