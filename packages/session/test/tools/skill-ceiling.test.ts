import { describe, expect, it } from 'vitest';

import { splitAllowed } from '@svc/artifacts/manifest/skill-file.ts';
import { inProcessorTime } from '../../../../test/support/processor-time.ts';
import { allowedTools, type Permit, shownPermits } from '../../src/tools/skills/allowed-tools.ts';
import { type AskedBySkill, covers, coversEverywhere } from '../../src/tools/skills/list-covers.ts';
import { SkillCeiling } from '../../src/tools/skills/skill-ceiling.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { holdsOverCases } from './skill-ceiling-properties.ts';
import { callables, dispatched, permitsOf } from './skill-lists.ts';

const of = (text: string): readonly Permit[] => permitsOf(splitAllowed(text)) ?? [];

describe('the lists of skills in use', () => {
  holdsOverCases(500);
});

describe('a list', () => {
  it.for<[words: string, tool: string, args: Readonly<Record<string, string>>, ran: boolean]>([
    ['Bash(git:*) Read', 'git', { command: 'push' }, true],
    ['Bash(git diff:*)', 'git', { command: 'push' }, false],
    ['Bash(git diff:*)', 'git', { command: 'diff HEAD' }, true],
    ['Bash(git diff:*)', 'git', { command: '"diff" HEAD' }, true],
    ['Bash(git diff:*)', 'git', { command: '-C x diff' }, false],
    ['Bash(git diff:*)', 'git', { command: '"diff HEAD"' }, false],
    ['Bash(git diff:*)', 'git', { command: 'diff "' }, false],
    ['Bash(git:*)', 'bash', { command: 'git log' }, false],
    ['Bash(npm run test)', 'npm', { command: 'run test' }, true],
    ['Bash(npm run test)', 'npm', { command: 'run test x' }, false],
    ['Bash(make)', 'make', { command: '' }, true],
    ['Bash(make)', 'make', { command: 'all' }, false],
    ['Read', 'svc-tool-editor', { command: 'read' }, true],
    ['Read', 'svc-tool-editor', { command: 'write' }, false],
    ['Read', 'cat', { command: 'a' }, true],
    ['Bash(scripts/a.py:*)', 'python3', { command: '.skills/x/scripts/a.py --all' }, true],
    ['Bash({baseDir}/scripts/a.py)', 'python3', { command: '.skills/x/scripts/a.py' }, true],
    ['Bash(${CLAUDE_SKILL_DIR}/scripts/a.py)', 'python3', { command: '.skills/x/scripts/a.py' }, true],
    ['Bash(scripts/a.py:*)', 'python3', { command: '-c x' }, false],
    ['Bash(bash x.sh:*)', 'bash', { command: 'bash  x.sh a' }, true],
    ['Bash(bash x.sh:*)', 'bash', { command: 'x.sh a' }, false],
    ['Bash(bash x.sh:*)', 'bash', { command: 'bash x.sh; ls' }, false],
    ['Bash(bash x.sh:*)', 'bash', { command: 'bash x.sh\nls' }, false],
    ['Bash(bash x.sh:*)', 'bash', { command: 'bash x.sh $(ls)' }, false],
    ['Bash(bash:*)', 'bash', { command: 'ls; ls' }, true],
    ['Agent(deployer)', 'delegate-task', { capsule: 'deployer' }, true],
    ['Agent(deployer)', 'delegate-task', { capsule: 'other' }, false],
    ['mcp__linear__get_*', 'linear__get_issue', {}, true],
    ['mcp__linear__get_*', 'linear__create_issue', {}, false],
    ['WebSearch', 'linear__search', {}, false],
  ])('holds calls to %s: %s %o', async ([words, tool, args, ran]) => {
    expect((await dispatched([of(words)], [tool, args])).ran).toBe(ran);
  });

  it('keeps a reader from writing and from starting anything', async () => {
    const { narrowed } = await dispatched([of('Read Bash(git:*)')], ['cat', { command: 'a' }]);
    expect(narrowed).toMatchObject({ readOnly: true });
    expect(narrowed?.without).toContain('git');
    expect((await dispatched([of('Read Bash(cat:*)')], ['cat', { command: 'a' }])).narrowed?.readOnly).toBe(false);
  });

  it('lets a program start what it names without arguments, and nothing else', async () => {
    const { narrowed } = await dispatched([of('Bash(git diff:*) Bash(make:*)')], ['make', { command: '' }]);
    expect(narrowed?.without).not.toContain('make');
    expect(narrowed?.without).toEqual(expect.arrayContaining(['git', 'bash', 'python3']));
  });

  it.for([
    'Bash(git commit -m "a b")',
    'Bash(git log | head)',
    'Bash(git; rm)',
    'Bash($(x))',
    'Bash(docker:*)',
    'Read(x)',
    'WebFetch',
    '(',
  ])('names %s as a word that stands for nothing', (word) => {
    const place = { root: '', scripts: {} };
    expect(allowedTools([word], callables, place)).toEqual({ permits: [], unknown: [word] });
    expect(allowedTools(['TodoWrite'], callables, place)).toEqual({ permits: [], unknown: [] });
  });

  it('names tools of a server by the names that the server has', () => {
    const place = { root: '', scripts: {} };
    const renamed = [{ name: 'linear__issue', kind: 'mcp', artifact: 'linear', listedAs: 'get_issue' }];
    const allowed = (word: string): readonly Permit[] => allowedTools([word], renamed, place).permits;
    expect(allowed('mcp__linear__get_*')).toEqual([{ tool: 'linear__issue' }]);
    expect(allowed('mcp__linear__issue')).toEqual([]);
    expect(allowed('linear__issue')).toEqual([{ tool: 'linear__issue' }]);
  });

  it('shows itself in words', () => {
    expect(shownPermits(of('Bash(git diff:*), Read Grep Bash(make) mcp__linear__search Agent(deployer)'))).toBe(
      'git diff …; make; linear__search; delegate-task deployer; cat, grep (read only); svc-tool-editor read, search',
    );
    expect(shownPermits([])).toBe('nothing here');
  });

  it.for<[before: string, after: string, isCovered: boolean]>([
    ['Bash(git:*)', 'Bash(git diff:*)', true],
    ['Read', 'Read Write', false],
    ['Bash(git diff --stat)', 'Bash(git diff --stat:*)', false],
    ['Read', 'Bash(cat:*)', false],
    ['Bash(git * --stat)', 'Bash(git diff --stat)', true],
  ])('knows whether %s covers %s', ([before, after, isCovered]) => {
    expect(covers(of(before), of(after))).toBe(isCovered);
    expect(covers(of(before), null)).toBe(false);
    expect(covers(null, of(after))).toBe(true);
  });
});

describe('the comparison of two lists', () => {
  const scripts = { 'scripts/a.py': 'python3' };
  const asked = (text: string, of: Readonly<Record<string, string>> = scripts): AskedBySkill => ({
    words: splitAllowed(text),
    scripts: of,
  });

  it.for<[before: string, after: string, isCovered: boolean]>([
    ['Read Bash(git:*)', 'Bash(git diff:*)', true],
    ['Bash', 'Bash(docker:*) Bash(scripts/a.py) shell', true],
    ['*', 'Bash Read linear__* Agent(x) g*', true],
    ['g*', 'git gh*', true],
    ['mcp__linear', 'mcp__linear__get_* mcp__linear__get_issue', true],
    ['Agent', 'Task(deployer)', true],
    ['Read', 'Read TodoWrite Skill(x) AskUserQuestion WebSearch(x)', true],
    ['Bash(python3:*)', 'Bash(scripts/a.py:*)', true],
    // No capsule of today need have what these name.
    ['Read', 'Read Bash(docker:*)', false],
    ['Read', 'Read WebSearch', false],
    ['Read', 'Read mcp__jira__x', false],
    ['mcp__aaaaaa__x', 'mcp__bbbbbb__x', false],
    ['mcp__linear__get_*', 'mcp__linear__g*', false],
    ['get_*', 'g*', false],
    ['a*b', 'a*', false],
    ['Bash(git:*) Bash(ls:*)', 'Bash', false],
    ['Bash', '*', false],
    ['Bash', 'x', false],
    ['x', 'x*', false],
    ['*__x', 'mcp__linear__x', false],
    ['Bash(cat:*) Bash(head:*) Bash(tail:*) Bash(wc:*) Bash(stat:*) Bash(grep:*) Bash(ls:*)', 'Bash', false],
    ['Bash(cat:*)', 'Read', false],
    ['svc-tool-editor', 'Read', false],
    ['svc-tool-e*', 'svc-tool-*', false],
    ['Bash(scripts/b.py:*)', 'Bash(scripts/a.py:*)', false],
    ['Bash(python3 scripts/a.py)', 'Bash(scripts/a.py)', false],
    ['Agent(deployer)', 'Agent', false],
  ])('finds what one names beyond the other (%s, %s)', ([before, after, isCovered]) => {
    expect(coversEverywhere(asked(before), asked(after))).toBe(isCovered);
  });

  it('finds another program that runs a script', () => {
    const list = 'Bash(scripts/a.py:*)';
    expect(coversEverywhere(asked(list), asked(list))).toBe(true);
    expect(coversEverywhere(asked(list), asked(list, { 'scripts/a.py': 'bash' }))).toBe(false);
    expect(coversEverywhere(asked(list, {}), asked(list))).toBe(false);
    expect(coversEverywhere(asked(list), asked(list, {}))).toBe(true);
  });

  it('takes none for the widest list', () => {
    expect(coversEverywhere(asked('Read'), { words: null, scripts })).toBe(false);
    expect(coversEverywhere({ words: null, scripts }, asked('Bash'))).toBe(true);
    expect(coversEverywhere({ words: null, scripts }, { words: null, scripts: {} })).toBe(true);
  });

  it('finds a list wider that leaves no character to compare with', () => {
    const all = Array.from({ length: 0xf8ff - 0xe000 + 1 }, (_, index) => String.fromCharCode(0xe000 + index)).join('');
    expect(coversEverywhere({ words: [all], scripts }, { words: [all], scripts })).toBe(false);
    expect(coversEverywhere({ words: [all.slice(1)], scripts }, { words: [all.slice(2)], scripts })).toBe(false);
  });

  it('takes seconds, whatever they have', { timeout: 300_000 }, () => {
    const words = Array.from({ length: 1000 }, (_, index) => `Bash(${' '.repeat(index)}*)`);
    const named = Array.from({ length: 1000 }, (_, index) => `mcp__server${index}__*`);
    const many = Object.fromEntries(Array.from({ length: 1900 }, (_, index) => [`scripts/${index}.py`, `p${index}`]));
    const { value, ms } = inProcessorTime(() => [
      coversEverywhere({ words, scripts: many }, { words: [...words, 'Bash(x:*)'], scripts: many }),
      coversEverywhere({ words: named, scripts: many }, { words: named, scripts: {} }),
    ]);
    expect(value).toEqual([true, true]);
    expect(ms).toBeLessThan(20_000);
  });
});

describe('a ceiling', () => {
  const tool = (name: string, kind: Tool['kind'], permits?: readonly Permit[]): Tool => ({
    name,
    kind,
    description: '',
    inputSchema: {},
    ...(permits === undefined ? {} : { permits }),
    call: () => Promise.reject(new Error('is never called')),
  });
  const [review, forms, git] = [
    tool('review', 'skill', of('Read')),
    tool('forms', 'skill', of('Bash(make)')),
    tool('git', 'shell'),
  ];
  const plan = tool('submit-plan', 'runtime');

  it('begins with the text of a skill, and ends with the task', () => {
    const ceiling = new SkillCeiling([review, forms, git]);
    expect(ceiling.judge('t', git, { command: 'log' })).toEqual({ kind: 'allowed', narrowed: null });
    ceiling.use('t', 'review');
    expect(ceiling.judge('t', git, { command: 'log' })).toEqual({
      kind: 'refused',
      reason: 'not allowed while the skill review is in use: it allows cat (read only); svc-tool-editor read',
      rule: 'allowed-tools of review',
    });
    expect(ceiling.judge('u', git, { command: 'log' })).toMatchObject({ kind: 'allowed' });
    ceiling.ended('t');
    expect(ceiling.judge('t', git, { command: 'log' })).toMatchObject({ kind: 'allowed' });
  });

  it('always answers skills, questions and plans, but no skill that leaves nothing', () => {
    const ceiling = new SkillCeiling([review, forms, git]);
    ceiling.use('t', 'review');
    expect(ceiling.judge('t', review, {})).toMatchObject({ kind: 'allowed' });
    expect(ceiling.judge('t', plan, {})).toMatchObject({ kind: 'allowed' });
    expect(ceiling.judge('t', tool('svc-tool-request-input', 'wasm'), {})).toMatchObject({ kind: 'allowed' });
    expect(ceiling.judge('t', forms, {})).toEqual({
      kind: 'refused',
      reason: 'not allowed while the skill review is in use: no call is allowed by both',
      rule: 'allowed-tools of review',
    });
  });
});
