import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { scriptCapsule } from '../support/script-capsule.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { startCapsule, svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { hasProgram, whereClassIs } from './use-capsule.ts';

function manifest(containment: string): string {
  return `trace: { capture: content }
capabilities:
  containment: ${containment}
  shell: { allow: [sh, git, make, python3, touch] }
  filesystem: { workdir_exec: true }
approvals:
  rules:
    - ask: { command: [git, push, "**"] }
    - deny: { command: [git, push, "**", --force, "**"] }
    - ask: { command: [touch, hooked] }
lifecycle: { task_acceptance: queue, after_task: sleep }
`;
}

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

function kept({ folder }: Workspace, name: string): string {
  return filesIn(join(folder, '.svc'))
    .filter((path) => path.endsWith(name))
    .map((path) => readFileSync(path, 'utf8'))
    .join('');
}

interface Open {
  readonly id: string;
  readonly digest: string;
  readonly rule: string;
  readonly effect: { readonly argv: readonly string[]; readonly program?: string };
}

/** What a person says to the questions of each call. */
const made: readonly (readonly [
  tool: string,
  command: string,
  ...answers: readonly ('allow' | 'deny' | 'session')[],
])[] = [
  ['sh', 'sh forced.sh'],
  ['make', '-s push', 'allow'],
  ['git', '-c alias.x=push x -q origin HEAD:b', 'deny'],
  ['sh', 'git push -q origin HEAD:c && git status', 'allow'],
  ['python3', `-c 'import os; os.system("git push -q origin HEAD:d")'`, 'session'],
  ['python3', `-c 'import os; os.system("git push -q origin HEAD:d")'`],
  ['git', 'commit -q --allow-empty -m more', 'deny'],
];

function workspaceOf(containment: string): Workspace {
  const workspace = scriptCapsule({
    manifest: manifest(containment),
    script: script(...made.map(([tool, command], at) => calls([[`c${at}`, tool, { command }]])), says('Done.')),
    files: {
      'work/forced.sh': 'git push -q --force origin HEAD:a\necho "code $?"\n',
      'work/Makefile': 'push:\n\tgit push -q origin HEAD:made\n',
    },
  });
  onTestFinished(() => workspace.remove());
  const work = join(workspace.folder, 'work');
  const git = (...args: readonly string[]): void => {
    const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];
    execFileSync('git', [...identity, ...args], { cwd: work, stdio: 'ignore' });
  };
  git('init', '-b', 'main');
  git('config', 'user.name', 'A');
  git('config', 'user.email', 'a@example.com');
  git('commit', '--allow-empty', '-m', 'first');
  git('init', '--bare', 'origin.git');
  git('remote', 'add', 'origin', './origin.git');
  writeFileSync(join(work, '.git', 'hooks', 'pre-commit'), '#!/bin/sh\ntouch hooked\n', { mode: 0o755 });
  return workspace;
}

function branches({ folder }: Workspace): string {
  return execFileSync('git', ['branch', '--format=%(refname:short)'], {
    cwd: join(folder, 'work', 'origin.git'),
    encoding: 'utf8',
  }).replaceAll('\n', ' ');
}

describe.each(['sealed', 'scoped'] as const)('commands of a capsule in %s that start others', (containment) => {
  it('have them decided by the rules, as calls are, and a replay starts none', async (context) => {
    for (const name of ['git', 'make', 'python3']) context.skip(!hasProgram(name), `needs ${name}`);
    const workspace = workspaceOf(containment);
    const token = (await svc(workspace, ['token', 'add', 'anna', '--scope', 'answer'])).stdout.trim();
    const env = { SVC_CONTAINMENT_CEILING: containment };
    const { process: capsule, line } = await whereClassIs(
      context,
      containment,
      async () => await startCapsule(workspace, ['--workdir', 'work', '--write-git', '--task', 'Go.'], { env }),
    );
    onTestFinished(async () => {
      capsule.child.kill('SIGKILL');
      await capsule.ended;
    });
    const rpc = async (method: string, params: unknown): Promise<Record<string, unknown>> => {
      const headers = { 'content-type': 'application/json', 'svc-events': '1', authorization: `Bearer ${token}` };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const response = await fetch(`http://${line.url}/`, { method: 'POST', headers, body });
      return ((await response.json()) as { result: Record<string, unknown> }).result;
    };
    const seen = new Map<string, Open>();
    for (const answer of made.flatMap(([, , ...answers]) => answers)) {
      let open: Open | undefined;
      const look = async (): Promise<boolean> => {
        open = ((await rpc('approvals/list', {}))['approvals'] as Open[]).find(({ id }) => !seen.has(id));
        return open !== undefined;
      };
      await expect.poll(look, { timeout: 60_000 }).toBe(true);
      if (open === undefined) throw new Error('nothing waits');
      seen.set(open.id, open);
      const { id, digest } = open;
      const given = answer === 'session' ? { decision: 'allow', option: 'session' } : { decision: answer };
      await rpc('approvals/answer', { id, digest, ...given });
    }
    const results = (): string => kept(workspace, 'trace.jsonl');
    await expect.poll(results, { timeout: 60_000 }).toContain('"task_end"');
    expect(branches(workspace)).toBe('c d made ');
    const asked = [...seen.values()];
    expect(asked.map(({ rule, effect: { argv } }) => [rule, argv.join(' ')])).toEqual([
      ['approvals.rules[0]', 'git push -q origin HEAD:made'],
      ['approvals.rules[0]', '/usr/lib/git-core/git push -q origin HEAD:b'],
      // The line itself: what it starts word for word was decided with it.
      ['approvals.rules[0]', 'sh -c git push -q origin HEAD:c && git status'],
      ['approvals.rules[0]', 'git push -q origin HEAD:d'],
      ['approvals.rules[2]', 'touch hooked'],
    ]);
    expect(asked[0]?.effect).toMatchObject({ program: '/usr/bin/git', called_by: { argv: ['make', '-s', 'push'] } });
    const journal = kept(workspace, 'journal.jsonl');
    for (const [argv, why] of [
      ['git push -q --force origin HEAD:a', 'the rules of the operator deny this program (approvals.rules[1])'],
      ['git push -q origin HEAD:b', 'a person denied this program'],
      ['touch hooked', 'a person denied this program'],
    ])
      expect(journal).toContain(`${argv}\\\\\\" was killed before it began: ${why}]`);
    expect(journal).toContain('code 137');
    const steps = kept(workspace, 'approvals.jsonl')
      .trim()
      .split('\n')
      .map((each) => (JSON.parse(each) as { k: string }).k);
    const allowed = ['asked', 'settled', 'started'];
    const denied = ['asked', 'settled'];
    expect(steps).toEqual([...allowed, ...denied, ...allowed, ...allowed, 'started', ...denied]);
    const refused = [...results().matchAll(/"refusal".*?"name":"([^"]*)","rule":"([^"]*)","by":"approvals"/g)];
    expect(refused.map(([, name]) => name)).toEqual([
      'git push -q --force origin HEAD:a',
      '/usr/lib/git-core/git push -q origin HEAD:b',
      'touch hooked',
    ]);
    capsule.child.kill('SIGKILL');
    await capsule.ended;
    execFileSync('git', ['branch', '-D', 'd'], { cwd: join(workspace.folder, 'work', 'origin.git') });
    const replayed = await svc(workspace, ['run', '--replay', line.session_id], { env });
    expect([replayed.code, replayed.stderr]).toEqual([0, '']);
    expect(branches(workspace)).toBe('c made ');
  });
});
