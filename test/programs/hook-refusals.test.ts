import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { compileTimeoutMs } from '../../packages/components/test/support/hosted-tool.ts';
import { hookCapsule, type HookCapsule } from '../support/hook-capsule.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const workspaces: Workspace[] = [];
afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

async function make(options: HookCapsule): Promise<Workspace> {
  const workspace = await hookCapsule({ files: { 'task.md': 'Go.\n' }, ...options });
  workspaces.push(workspace);
  return workspace;
}

async function run(declared: string): Promise<SvcEnd> {
  return await svc(await make({ hooks: { guard: declared } }), ['run']);
}

describe('a hook that declares what it cannot commit', { timeout: compileTimeoutMs }, () => {
  it.each([
    ['on-task-end', 'deny', 'on-tool-call or on-shell'],
    ['on-stage', 'artifact', 'on-inference'],
    ['on-inference', 'write-manifests', 'on-stage'],
    ['on-tool-call', 'replace-context', 'on-compaction'],
    ['on-compaction', 'reopen-task', 'on-task-end'],
  ])('keeps the capsule from being started: %s and %s', async (event, policy, allowed) => {
    expect(await run(`binding: ${event}\ncommit_policy: ${policy}`)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        `error[E-ART-009]: the hook guard declares commit_policy ${policy}, but is bound to ${event}; ${policy} is committed at ${allowed} alone\n`,
      ) as string,
    });
  });

  it('keeps it from being started when it is async', async () => {
    const { code, stderr } = await run('binding: on-shell\nexecution_mode: async\ncommit_policy: deny');
    expect(code).toBe(1);
    expect(stderr).toContain('error[E-ART-009]: the hook guard is async and declares commit_policy deny');
  });

  it('keeps it from being started when it is blocking and says what to do with a full queue', async () => {
    const { code, stderr } = await run('binding: on-shell\non_overflow: drop');
    expect(code).toBe(1);
    expect(stderr).toContain('error[E-ART-012]: the hook guard is blocking and declares on_overflow');
  });

  it('cannot be packed either', async () => {
    const workspace = await make({ hooks: { guard: 'binding: on-stage\ncommit_policy: deny' } });
    const { code, stderr } = await svc(workspace, ['build', 'guard']);
    expect(code).toBe(1);
    expect(stderr).toContain('error[E-ART-009]: the hook guard declares commit_policy deny');
  });

  it.each([
    ['binding: on-lunch', 'binding must be one of on-stage, '],
    ['execution_mode: lazy', 'execution_mode must be one of blocking, async'],
    ['commit_policy: veto', 'commit_policy must be one of write-manifests, '],
  ])('fails too when it names something unknown: %s', async (declared, message) => {
    const { code, stderr } = await run(declared);
    expect(code).toBe(1);
    expect(stderr).toContain(`error[E-MAN-003]: ${message}`);
  });
});

describe('a hook that is a program', { timeout: compileTimeoutMs }, () => {
  it('keeps the capsule from being started: hooks get no process', async () => {
    const workspace = await make({ hooks: { guard: 'implementation: native' } });
    workspace.write('guard/bin/guard', '#!/bin/sh\n');
    const { code, stderr } = await svc(workspace, ['run']);
    expect(code).toBe(1);
    expect(stderr).toContain('error[E-ART-010]: the hook guard declares implementation: native\n');
  });
});

describe('a context limit', { timeout: compileTimeoutMs }, () => {
  const warned = /warning\[W-RUN-004\]/;

  async function stderrOf(declared: string): Promise<string> {
    const workspace = await make({ hooks: { odd: declared } });
    const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', manifest.replace('  model:', '  context: { max_tokens: 5000 }\n  model:'));
    return (await svc(workspace, ['run'])).stderr;
  }

  it('causes a warning where no hook compacts, and none where one does', async () => {
    expect(await stderrOf('binding: on-shell')).toMatch(warned);
    expect(await stderrOf('binding: on-compaction')).toMatch(warned);
    expect(await stderrOf('binding: on-compaction\ncommit_policy: replace-context')).not.toMatch(warned);
  });
});

describe('the scope report', { timeout: compileTimeoutMs }, () => {
  it('shows a hook with what it was granted, which is nothing unless it asks [D1-SCOPE-07, D1-SCOPE-10]', async () => {
    const { stdout } = await svc(await make({ hooks: { guard: '' } }), ['run', '--explain-scope']);
    expect(stdout).toMatch(/^ {2}preopens: +guard \(hook\) +\(none\)$/m);
  });
});
