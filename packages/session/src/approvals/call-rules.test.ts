import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Approvals } from '@svc/artifacts/manifest/approvals.ts';
import { CallRules, type RuledCall } from './call-rules.ts';

type Settings = Pick<Approvals, 'rules' | 'default' | 'opaque'>;

function ruled(rules: Settings['rules'], settings: Partial<Settings> = {}): CallRules {
  return new CallRules({ rules, default: 'allow', opaque: 'ask', ...settings });
}

function command(toolName: string, line: string): RuledCall {
  return { toolName, kind: 'shell', arguments: { command: line } };
}

function verdictOf(rules: CallRules, call: RuledCall): string {
  const ruling = rules.of(call);
  return ruling === null ? 'nothing' : `${ruling.verdict} by ${ruling.rule}`;
}

describe('rules of commands', () => {
  const rules = ruled(
    [
      { allow: { command: ['git', 'status|diff|log'] } },
      { ask: { command: ['git', 'push', '**'] } },
      { deny: { command: ['git', 'push', '**', '--force|-f', '**'] } },
      { allow: { command: ['ls', '*', '**', 'x'] } },
    ],
    { default: 'ask' },
  );

  it.each([
    ['git', 'status', 'allow by approvals.rules[0]'],
    ['git', 'status -s', 'ask by approvals.default'],
    ['git', 'push', 'ask by approvals.rules[1]'],
    ['git', 'push origin main', 'ask by approvals.rules[1]'],
    ['git', 'push -f', 'deny by approvals.rules[2]'],
    ['git', 'push origin --force main', 'deny by approvals.rules[2]'],
    ['git', '', 'ask by approvals.default'],
    ['ls', 'a x', 'allow by approvals.rules[3]'],
    ['ls', 'x', 'ask by approvals.default'],
    ['ls', 'x x y x', 'allow by approvals.rules[3]'],
    ['bash', 'git status', 'allow by approvals.rules[0]'],
    ['bash', 'git status; git push', 'ask by approvals.rules[1]'],
    ['bash', 'git status && /usr/bin/git push -f', 'deny by approvals.rules[2]'],
    ['bash', './git status', 'ask by approvals.default'],
    ['bash', 'git status; git $x', 'ask by approvals.opaque'],
    ['zsh', 'git status', 'ask by approvals.opaque'],
    ['git', '"status', 'nothing'],
  ])('%s %s: %s', (name, line, expected) => {
    expect(verdictOf(rules, command(name, line))).toBe(expected);
  });

  it('deny a line that is opaque where they say so, or where its shell is denied', () => {
    const opaque = command('bash', 'git $x');
    expect(verdictOf(ruled([], { opaque: 'deny' }), opaque)).toBe('deny by approvals.opaque');
    expect(verdictOf(ruled([{ deny: { command: ['bash', '**'] } }]), opaque)).toBe('deny by approvals.rules[0]');
    expect(verdictOf(ruled([{ allow: { command: ['bash', '-c', 'git $x'] } }]), opaque)).toBe(
      'ask by approvals.opaque',
    );
  });

  it('allow a whole line of a shell word for word, unless something in it is asked about', () => {
    const whole = { allow: { command: ['bash', '-c', 'make; git push'] } };
    const line = command('bash', 'make; git push');
    expect(verdictOf(ruled([whole], { default: 'deny' }), line)).toBe('allow by approvals.rules[0]');
    const asked = { ask: { command: ['git', 'push', '**'] } };
    expect(verdictOf(ruled([whole, asked], { default: 'deny' }), line)).toBe('ask by approvals.rules[1]');
  });

  it('deny more words than rules are held to', () => {
    const long = command('git', 'a '.repeat(5000));
    expect(verdictOf(ruled([]), long)).toBe('deny by more than 4096 words');
  });
});

describe('rules of tools', () => {
  const call = (toolName: string, args: object, artifact?: string): RuledCall => ({
    toolName,
    kind: 'mcp',
    artifact,
    arguments: { ...args },
  });

  it('name a tool or its artifact, and arguments by their JSON values', () => {
    const rules = ruled([
      { ask: { tool: 'db' } },
      { deny: { tool: 'db__drop', args: { table: 'users', really: true } } },
    ]);
    expect(verdictOf(rules, call('db__list', {}, 'db'))).toBe('ask by approvals.rules[0]');
    expect(verdictOf(rules, call('db__drop', { table: 'users', really: 'true' }, 'db'))).toBe(
      'ask by approvals.rules[0]',
    );
    expect(verdictOf(rules, call('db__drop', { table: 'users', really: true }, 'db'))).toBe(
      'deny by approvals.rules[1]',
    );
    expect(verdictOf(rules, call('other', {}))).toBe('allow by approvals.default');
    expect(verdictOf(ruled([{ deny: { tool: 'db', args: { toString: 'x' } } }]), call('db', {}))).toBe(
      'allow by approvals.default',
    );
  });

  it('name capsules, for steps of plans too, which are calls of their own', () => {
    const rules = ruled([{ deny: { spawn: 'deployer' } }], { default: 'ask' });
    expect(verdictOf(rules, { toolName: 'delegate-task', kind: 'runtime', arguments: { capsule: 'deployer' } })).toBe(
      'deny by approvals.rules[0]',
    );
    expect(verdictOf(rules, { toolName: 'submit-plan', kind: 'runtime', arguments: {} })).toBe('nothing');
    expect(verdictOf(rules, { toolName: 'house-style', kind: 'skill', arguments: {} })).toBe('nothing');
  });
});

const strictness = ['allow', 'ask', 'deny'];
const word = fc.constantFrom('git', 'push', '-f', 'bash', 'a', '*', '**', 'push|pull');
const match = fc.oneof(
  fc.record({ command: fc.array(word, { minLength: 1, maxLength: 4 }) }),
  fc.record({ tool: fc.constantFrom('t', 'u') }),
);
const anyRule = fc.oneof(
  match.map((allow) => ({ allow })),
  match.map((ask) => ({ ask })),
  match.map((deny) => ({ deny })),
);
const strictRule = fc.oneof(
  match.map((ask) => ({ ask })),
  match.map((deny) => ({ deny })),
);
const anyCall = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('git', 'bash', 'zsh'),
      fc.array(fc.constantFrom('git', 'push', '-f', ';', '&&', '$x', '/a/git')),
    )
    .map(([name, words]) => command(name, words.join(' '))),
  fc.constantFrom('t', 'u').map((toolName): RuledCall => ({ toolName, kind: 'wasm', arguments: {} })),
);

it('a rule that asks or denies never lets more run, wherever it stands', () => {
  const settings = fc.record({
    default: fc.constantFrom('allow', 'ask', 'deny'),
    opaque: fc.constantFrom('ask', 'deny'),
  });
  const property = fc.property(
    fc.array(anyRule, { maxLength: 6 }),
    strictRule,
    fc.nat(6),
    anyCall,
    settings,
    (rules, added, at, call, of) => {
      const more = rules.toSpliced(at, 0, added);
      const [before, after] = [ruled(rules, of).of(call), ruled(more, of).of(call)];
      if (before === null) return true;
      // A rule that asks stands in the place of a default that denies: nothing runs without a person either way.
      const least = before.rule === 'approvals.default' && before.verdict === 'deny' ? 'ask' : before.verdict;
      return after !== null && strictness.indexOf(after.verdict) >= strictness.indexOf(least);
    },
  );
  expect(() => fc.assert(property, { numRuns: 20_000 })).not.toThrow();
});
