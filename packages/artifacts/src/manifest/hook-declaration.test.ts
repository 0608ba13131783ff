import { describe, expect, it } from 'vitest';

import { parseArtifactManifest } from './artifact-manifest.ts';
import { hookDeclaration, hookProblem, mayCommit } from './hook-declaration.ts';
import type { ArtifactManifest } from './schema.ts';

function manifest(yaml: string): ArtifactManifest {
  return parseArtifactManifest(`name: guard\nversion: 1.0.0\nruntime: hook\n${yaml}`, 'svc.yaml').manifest;
}

function refusal(yaml: string): string | null {
  const problem = hookProblem(manifest(yaml));
  return problem === null ? null : `${problem.code} ${problem.message}`;
}

describe('what a hook declares', () => {
  it('means every event, blocking, and nothing to commit, when it says nothing', () => {
    const declaration = hookDeclaration(manifest(''));
    expect([...declaration.events]).toEqual([
      'on-stage',
      'on-session-start',
      'on-task-start',
      'on-inference',
      'on-tool-call',
      'on-shell',
      'on-compaction',
      'on-task-end',
      'on-session-end',
    ]);
    expect(declaration.mode).toBe('blocking');
    expect(declaration.onOverflow).toBe('wait');
    expect([...declaration.policies]).toEqual([]);
  });

  it('may be one name or a list of them', () => {
    const one = hookDeclaration(manifest('binding: on-shell\ncommit_policy: deny\n'));
    expect([...one.events, ...one.policies]).toEqual(['on-shell', 'deny']);
    const two = hookDeclaration(
      manifest('binding: [on-shell, on-task-end]\ncommit_policy: [deny, reopen-task]\nexecution_mode: blocking\n'),
    );
    expect([...two.events, ...two.policies]).toEqual(['on-shell', 'on-task-end', 'deny', 'reopen-task']);
    expect(mayCommit(two, 'deny', 'on-shell')).toBe(true);
    expect(mayCommit(two, 'deny', 'on-task-end')).toBe(false);
    expect(mayCommit(two, 'artifact', 'on-inference')).toBe(false);
  });

  it.each([
    ['binding: on-lunch', 'binding must be one of on-stage, on-session-start, '],
    ['binding: []', 'binding must have at least one entry'],
    [
      'commit_policy: veto',
      'commit_policy must be one of write-manifests, artifact, deny, replace-context, reopen-task',
    ],
    ['execution_mode: lazy', 'execution_mode must be one of blocking, async, not "lazy"'],
    ['on_overflow: block', 'on_overflow must be one of wait, drop, not "block"'],
  ])('fails on an unknown name: %s', (yaml, message) => {
    expect(() => manifest(`${yaml}\n`)).toThrow(message);
  });
});

describe('a commit policy', () => {
  it.each([
    ['on-stage', 'write-manifests'],
    ['on-inference', 'artifact'],
    ['on-tool-call', 'deny'],
    ['on-shell', 'deny'],
    ['on-compaction', 'replace-context'],
    ['on-task-end', 'reopen-task'],
  ])('made of %s reads as %s', (event, policy) => {
    expect(refusal(`binding: ${event}\ncommit_policy: ${policy}\n`)).toBeNull();
    expect(refusal(`commit_policy: ${policy}\n`)).toBeNull();
  });

  it.each([
    ['on-task-end', 'deny', 'on-tool-call or on-shell'],
    ['on-tool-call', 'reopen-task', 'on-task-end'],
    ['on-session-start', 'write-manifests', 'on-stage'],
    ['on-inference', 'replace-context', 'on-compaction'],
    ['on-session-end', 'artifact', 'on-inference'],
  ])('fails at %s when it is %s', (event, policy, allowed) => {
    expect(refusal(`binding: ${event}\ncommit_policy: ${policy}\n`)).toBe(
      `E-ART-009 the hook guard declares commit_policy ${policy}, but is bound to ${event}; ${policy} is committed at ${allowed} alone`,
    );
  });

  it('fails for an async hook, which may have none', () => {
    expect(refusal('execution_mode: async\n')).toBeNull();
    expect(refusal('binding: on-shell\nexecution_mode: async\ncommit_policy: deny\n')).toBe(
      'E-ART-009 the hook guard is async and declares commit_policy deny: an async hook commits nothing',
    );
  });
});

describe('on_overflow', () => {
  it.each(['wait', 'drop'])('fails for a blocking hook, which has no queue: %s', (policy) => {
    const message =
      'E-ART-012 the hook guard is blocking and declares on_overflow: the session waits for it at each event';
    expect(refusal(`on_overflow: ${policy}\n`)).toBe(message);
    expect(refusal(`execution_mode: blocking\non_overflow: ${policy}\n`)).toBe(message);
    expect(refusal(`execution_mode: async\non_overflow: ${policy}\n`)).toBeNull();
  });
});

describe('a hook that is a program', () => {
  it('fails: hooks get no process', () => {
    expect(refusal('implementation: native\n')).toBe('E-ART-010 the hook guard declares implementation: native');
  });
});
