import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { fittedName } from './names.ts';
import { parseSkillFile, splitAllowed, type SkillFile } from './skill-file.ts';

const read = (head: string, text = 'Do it.'): SkillFile => parseSkillFile('SKILL.md', `---\n${head}\n---\n${text}\n`);

function refusalOf(whole: string): string {
  try {
    parseSkillFile('SKILL.md', whole);
    return 'read';
  } catch (error) {
    if (error instanceof Diagnostic) return `${error.code} ${error.message}`;
    throw error;
  }
}

describe('SKILL.md', () => {
  it('has a head and a text', () => {
    expect(read('name: forms\ndescription: Fills forms.')).toEqual({
      name: 'forms',
      description: 'Fills forms.',
      version: null,
      allowed: null,
      text: 'Do it.',
      callers: 'all',
      compatibility: null,
      otherFields: [],
    });
  });

  it.for<[what: string, head: string, version: string | null]>([
    ['metadata.version', 'metadata: { version: "1.2" }', '1.2'],
    ['version', 'version: 2.0.1', '2.0.1'],
    ['metadata.version before version', 'version: "1"\nmetadata: { version: "2" }', '2'],
    ['none of a number, which has lost its zeros', 'version: 1.10', null],
    ['none of a reserved name', 'version: latest', null],
  ])('takes its version from %s', ([, head, version]) => {
    expect(read(`description: d\n${head}`).version).toBe(version);
  });

  it.for<[value: string, words: readonly string[] | null]>([
    ['Read Grep', ['Read', 'Grep']],
    ['Read, Grep,Glob', ['Read', 'Grep', 'Glob']],
    ['"Bash(git diff:*), Bash(npm run test)"', ['Bash(git diff:*)', 'Bash(npm run test)']],
    ['[Read, "Bash(a, b)"]', ['Read', 'Bash(a, b)']],
    ['"- Read"', ['-', 'Read']],
    ['', null],
    ['[]', null],
    ['""', null],
  ])('takes allowed-tools from %s', ([value, words]) => {
    expect(read(`description: d\nallowed-tools: ${value}`).allowed).toEqual(words);
  });

  it('reads values that other clients take for text', () => {
    const { description, name } = read('name: a\ndescription: Use when: a form is empty # not filled');
    expect({ description, name }).toEqual({ description: 'Use when: a form is empty # not filled', name: 'a' });
  });

  it('keeps fields that it does not know, and cuts what is too long for a model', () => {
    const { otherFields, description, callers, compatibility } = read(
      `description: ${'d'.repeat(5000)}\nmodel: large\ndisable-model-invocation: true\nlicense: MIT\ncompatibility: "needs\\n  git"`,
    );
    expect(otherFields).toEqual(['model']);
    expect(description).toHaveLength(4096);
    expect(callers).toBe('people');
    expect(compatibility).toBe('needs git');
  });

  it('may begin with a mark of its encoding, and end its lines as Windows does', () => {
    expect(parseSkillFile('SKILL.md', '\uFEFF---\r\ndescription: d\r\n---\r\nDo.\r\nIt.\r\n').text).toBe('Do.\r\nIt.');
  });

  it.for<[what: string, whole: string, refusal: string]>([
    ['no text at all', '', 'E-ART-004 SKILL.md does not begin with a head between two lines "---"'],
    ['no head', '# Forms\n', 'E-ART-004 SKILL.md does not begin with a head between two lines "---"'],
    [
      'a head without an end',
      '---\ndescription: d\n',
      'E-ART-004 SKILL.md does not begin with a head between two lines "---"',
    ],
    [
      'no description',
      '---\nname: a\n---\n',
      'E-ART-004 SKILL.md has no description, by which a model chooses a skill',
    ],
    [
      'an empty description',
      '---\ndescription: " "\n---\n',
      'E-ART-004 SKILL.md has no description, by which a model chooses a skill',
    ],
    [
      'a list for a description',
      '---\ndescription: [d]\n---\n',
      'E-ART-004 SKILL.md has no description, by which a model chooses a skill',
    ],
    ['a list for a head', '---\n- a\n---\n', 'E-ART-004 SKILL.md has a head that is not valid: it holds no fields'],
    [
      'a field twice',
      '---\ndescription: a\ndescription: b\n---\n',
      'E-ART-004 SKILL.md, line 3 has a head that is not valid: the key description appears twice in one block',
    ],
    [
      'allowed-tools of another type',
      '---\ndescription: a\nallowed-tools: 3\n---\n',
      'E-ART-004 SKILL.md has an allowed-tools that is neither text nor a list of texts',
    ],
    [
      'a list of too many words',
      `---\ndescription: a\nallowed-tools: ${'a '.repeat(1001)}\n---\n`,
      'E-ART-003 SKILL.md: allowed-tools has more than 1000 words',
    ],
  ])('cannot have %s', ([, whole, refusal]) => {
    expect(refusalOf(whole)).toBe(refusal);
  });

  it('names the line at which YAML breaks', () => {
    expect(refusalOf('---\ndescription: d\nmetadata: [a\n---\n')).toMatch(
      /^E-ART-004 SKILL.md, line [34] has a head that is not valid: not valid YAML/,
    );
  });

  it('takes a time that its length bounds', () => {
    expect(refusalOf(`---\n${'-'.repeat(200_000)}\n${'a: &a [*a'.repeat(1000)}`)).toMatch(/^E-ART-004/);
    expect(splitAllowed('('.repeat(100_000))).toHaveLength(1);
  });
});

describe('a fitted name', () => {
  it.for<[given: string, fitted: string | null]>([
    ['pdf', 'pdf'],
    ['capsule_crm', 'capsule-crm'],
    ['-My Skill (v2)-', 'my-skill-v2'],
    ['a--b', 'a-b'],
    ['Ünï', 'n'],
    ['技能', null],
    [`${'a'.repeat(99)}--b`, 'a'.repeat(99)],
  ])('comes from %s', ([given, fitted]) => {
    expect(fittedName(given)).toBe(fitted);
  });
});
