import { describe, expect, it } from 'vitest';

import type { StartedProgram } from '@svc/sandbox/launcher.ts';
import { isStartOf, ProgramRules } from './program-rules.ts';

const rules = new ProgramRules({
  rules: [
    { ask: { command: ['git', 'push', '**'] } },
    { deny: { command: ['git|hub', 'push', '**', '--force|-f', '**'] } },
    { deny: { command: ['./deploy', '*'] } },
    { allow: { command: ['git', 'push', 'origin'] } },
    { ask: { tool: 'web' } },
  ],
});

function of(file: string, argv: readonly string[], state: StartedProgram['state'] = 'whole'): string | null {
  const decision = rules.of({ file, argv, state, isText: true });
  return decision === null ? null : `${decision.verdict} by ${decision.rule}`;
}

describe('the rules of commands', () => {
  it('decide about a program by its first word and by its file, of a path by the last part too', () => {
    expect(of('/usr/bin/git', ['git', 'push'])).toBe('ask by approvals.rules[0]');
    expect(of('/usr/bin/git', ['git', 'push', 'origin'])).toBe('ask by approvals.rules[0]');
    expect(of('/usr/lib/git-core/git', ['other', 'push'])).toBe('ask by approvals.rules[0]');
    expect(of('/tmp/other', ['/usr/bin/git', 'push', '-f', 'origin'])).toBe('deny by approvals.rules[1]');
    expect(of('hub', ['x', 'push', '--force'])).toBe('deny by approvals.rules[1]');
    expect(of('./deploy', ['deploy', 'now'])).toBe('deny by approvals.rules[2]');
    expect(of('/bin/deploy', ['deploy', 'now'])).toBe(null);
    expect(of('/usr/bin/git', ['git', 'status'])).toBe(null);
    expect(of('/bin/echo', ['echo', 'git', 'push'])).toBe(null);
    expect(of('/usr/bin/git', [])).toBe(null);
  });

  it('say no more of themselves than their verdict and their place', () => {
    expect(rules.of({ file: '/usr/bin/git', argv: ['git', 'push'], state: 'whole', isText: true })).toEqual({
      verdict: 'ask',
      rule: 'approvals.rules[0]',
    });
  });

  it('decide about a script by its own words and by those of its interpreters', () => {
    expect(of('./git', ['/bin/sh', './git', 'push'])).toBe('ask by approvals.rules[0]');
    expect(of('./git', ['/bin/sh', '-e', './git', 'push'])).toBe('ask by approvals.rules[0]');
    expect(of('./deploy', ['/usr/bin/env', 'sh', './deploy', 'now'])).toBe('deny by approvals.rules[2]');
    expect(of('./run', ['/bin/sh', '/opt/hub', 'push', './run', '-f'])).toBe('deny by approvals.rules[1]');
    expect(of('/bin/echo', ['echo', 'git', 'push', '/bin/echo'])).toBe('ask by approvals.rules[0]');
    const far = ['/bin/sh', ...Array.from({ length: 10 }, () => '-'), './git', 'push'];
    expect(of('./git', far)).toBe(null);
  });

  it('deny a program that a rule could be about, and whose words are not all known', () => {
    const cut = 'deny by more than 4096 words, or 64 KiB of them';
    expect(of('/usr/bin/git', ['git', 'add'], 'cut')).toBe(cut);
    expect(of('/usr/bin/git', ['other'], 'cut')).toBe(cut);
    expect(of('/bin/echo', ['echo', 'git'], 'cut')).toBe(null);
    expect(of('/bin/echo', [], 'cut')).toBe(cut);
    expect(of('', [], 'unreadable')).toBe('deny by words that cannot be read');
    expect(of('/bin/echo', ['echo'], 'crowded')).toBe('deny by more than 1024 programs that wait');
  });

  it('name the programs of their first words, or stand for any', () => {
    expect(rules.names).toEqual(['git', 'hub', './deploy']);
    expect(new ProgramRules({ rules: [{ allow: { command: ['git'] } }, { ask: { tool: 'web' } }] }).names).toBe(null);
    const any = { deny: { command: ['**', '--force'] } };
    expect(new ProgramRules({ rules: [{ ask: { command: ['git'] } }, any] }).names).toEqual([]);
  });
});

describe('a command of a line', () => {
  it('starts a program of its name with its words, or a script that the shell has found by that', () => {
    const is = (file: string, argv: readonly string[], ...command: readonly string[]): boolean =>
      isStartOf({ file, argv }, command);
    expect(is('/usr/bin/git', ['git', 'push'], 'git', 'push')).toBe(true);
    expect(is('/usr/bin/npm', ['/usr/bin/env', 'node', '/usr/bin/npm', 'publish'], 'npm', 'publish')).toBe(true);
    expect(is('./deploy', ['/bin/sh', './deploy', 'now'], './deploy', 'now')).toBe(true);
    expect(is('/bin/ls', ['ls', '/bin/ls'], 'ls', '/bin/ls')).toBe(true);
    expect(is('/usr/bin/git', ['git', 'push', '-f'], 'git', 'push')).toBe(false);
    expect(is('/usr/bin/git', ['git', 'push'], '/opt/git', 'push')).toBe(false);
    expect(is('/usr/bin/shred', ['rm', 'x'], 'rm', 'x')).toBe(false);
    expect(is('./deploy', ['/bin/sh', './deploy', 'now'], 'sh', './deploy', 'now')).toBe(false);
  });
});
