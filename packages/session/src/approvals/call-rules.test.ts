import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Approvals } from '@svc/artifacts/manifest/approvals.ts';
import type { FileOperation } from '../tools/tool.ts';
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

describe('rules of paths', () => {
  const call: RuledCall = { toolName: 'editor', kind: 'wasm', arguments: {} };
  const plain = { operation: 'write', to: null, isTree: false, isLinked: false } as const;
  const change = (path: string, other: Partial<FileOperation> = {}): FileOperation => ({ ...plain, path, ...other });
  const decided = (rules: CallRules, asked: FileOperation, of: RuledCall = call): string => {
    const decision = rules.ofChange(of, asked);
    return decision === null ? 'nothing' : `${decision.verdict} by ${decision.rule}`;
  };
  const rules = ruled([
    { ask: { tool: 'editor', path: 'config/**' } },
    { deny: { tool: 'editor', path: '**/secret' } },
    { ask: { tool: 'editor', path: 'a/*/c' } },
    { ask: { tool: 'other', path: '**' } },
  ]);

  it.each([
    ['config/app', 'ask by approvals.rules[0]'],
    ['config', 'ask by approvals.rules[0]'],
    ['Config/App', 'ask by approvals.rules[0]'],
    ['ｃonfig/app', 'ask by approvals.rules[0]'],
    ['configs/app', 'nothing'],
    ['src/config/app', 'nothing'],
    ['config/x/SECRET', 'deny by approvals.rules[1]'],
    ['secret', 'deny by approvals.rules[1]'],
    ['a/b/c', 'ask by approvals.rules[2]'],
    ['a/b/b/c', 'nothing'],
    ['', 'nothing'],
  ])('match %j: %s', (path, expected) => {
    expect(decided(rules, change(path))).toBe(expected);
  });

  it('look at both places of a rename, at all that goes with a directory, and at the other names of a file', () => {
    const only = ruled([{ ask: { tool: 'editor', path: 'a/config/x' } }]);
    const renames = (path: string, to: string, isTree: boolean): string =>
      decided(only, change(path, { operation: 'rename', to, isTree }));
    expect(renames('src', 'a/config/x', false)).toBe('ask by approvals.rules[0]');
    expect(renames('a/config/x', 'src', false)).toBe('ask by approvals.rules[0]');
    expect(renames('a', 'b', false)).toBe('nothing');
    expect(renames('a', 'b', true)).toBe('ask by approvals.rules[0]');
    expect(renames('src', 'a/config', true)).toBe('ask by approvals.rules[0]');
    expect(renames('src', 'lib', true)).toBe('nothing');
    expect(decided(only, change('src/x', { isLinked: true }))).toBe('ask by approvals.rules[0]');
  });

  it('match every spelling that a file system may take for the same, name by name', () => {
    const strict = ruled([{ deny: { tool: 'editor', path: 'stra\u00DFe/*/key' } }]);
    for (const path of [
      'STRASSE/a/KEY',
      'stra\u200B\u00DFe/a/ke\u00ADy',
      'stra\u00DFe/a\uFF0Fb/key',
      'stra\u00DFe/\u2100/\uFF4Bey',
    ]) {
      expect(decided(strict, change(path))).toBe('deny by approvals.rules[0]');
    }
    expect(decided(strict, change('stra\u00DFe/a/b/key'))).toBe('nothing');
  });

  it('fall back to the default, unless it has decided about the call', () => {
    const allowed = [{ allow: { tool: 'editor', path: 'src/**' } }, { allow: { tool: 'editor', path: 'lib/*' } }];
    const byRule = ruled([{ allow: { tool: 'editor' } }, ...allowed], { default: 'ask' });
    expect(decided(byRule, change('src/a'))).toBe('allow by approvals.rules[1]');
    expect(decided(byRule, change('Src/a'))).toBe('ask by approvals.default');
    expect(decided(byRule, change('src/a', { isLinked: true }))).toBe('ask by approvals.default');
    const toLib = { operation: 'rename', to: 'lib/a', isTree: true } as const;
    expect(decided(byRule, change('src/a', toLib))).toBe('ask by approvals.default');
    expect(decided(byRule, change('src/a', { ...toLib, isTree: false }))).toBe('allow by approvals.rules[1]');
    expect(decided(ruled(allowed, { default: 'ask' }), change('other'))).toBe('nothing');
    expect(decided(byRule, change('other'), { ...call, toolName: 'unnamed' })).toBe('nothing');
  });

  it('ask nobody about an empty directory, which a rule can deny', () => {
    const made = { operation: 'directory' } as const;
    expect(decided(rules, change('config/x', made))).toBe('nothing');
    expect(decided(rules, change('config/secret', made))).toBe('deny by approvals.rules[1]');
  });

  it('decide about no call of the tool', () => {
    expect(verdictOf(ruled([{ deny: { tool: 'editor', path: '**' } }]), call)).toBe('allow by approvals.default');
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
