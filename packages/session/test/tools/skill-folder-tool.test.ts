import { describe, expect, it } from 'vitest';

import { createSkillFolderTool } from '../../src/tools/skill-folder-tool.ts';
import type { Tool, ToolCallContext, ToolOutcome } from '../../src/tools/tool.ts';

const contents: Readonly<Record<string, Buffer>> = {
  'a.md': Buffer.from('Text.\n'),
  'big.md': Buffer.from(`${'é'.repeat(65_535)}😀end`),
  'b.bin': Buffer.from([0xff, 0xfe]),
  'c.bin': Buffer.from('a\0b'),
};

function skill(files: readonly string[]): Tool {
  return createSkillFolderTool({
    name: 'forms',
    version: '1.0.0',
    description: 'Fills forms.',
    text: () => 'Do it.',
    files,
    place: '.skills/forms/',
    limits: () => null,
    read: (file) => Promise.resolve(contents[file] ?? Buffer.from('')),
  });
}

const call = async (args: Readonly<Record<string, unknown>>, files = Object.keys(contents)): Promise<ToolOutcome> =>
  await skill(files).call(args, {} as ToolCallContext);

describe('a skill folder as a tool', () => {
  it('says before it is called that it is to be called', () => {
    expect(skill(['a.md'])).toMatchObject({
      name: 'forms',
      kind: 'skill',
      description: 'Skill: call it before you begin. Fills forms.',
    });
    expect(skill([]).inputSchema['properties']).toEqual({});
  });

  it('gives its text alone where there is nothing else', async () => {
    expect((await call({}, [])).content).toBe('[skill forms 1.0.0.]\nDo it.');
  });

  it('names at most twenty files with its text', async () => {
    const files = Array.from({ length: 25 }, (_, index) => `f${index}`);
    const { content } = await call({}, files);
    expect(content).toMatch(/\n\[also: f0, .*, f19 and 5 more; call forms with file\]$/);
  });

  it('gives a file, in parts where it is long', async () => {
    expect(await call({ file: 'a.md' })).toMatchObject({ status: 'passed', content: 'Text.\n' });
    expect((await call({ file: './a.md' })).content).toBe('Text.\n');
    expect((await call({ file: 'big.md' })).content).toBe(`${'é'.repeat(65_535)}\n[part 1 of 2 of big.md]`);
    expect((await call({ file: 'big.md', part: 2 })).content).toBe('😀end\n[part 2 of 2 of big.md]');
  });

  it.for<[what: string, args: Readonly<Record<string, unknown>>, content: string]>([
    ['a file that is not there', { file: 'x' }, 'the skill forms has no file "x"; it has a.md, big.md, b.bin, c.bin'],
    [
      'a way out',
      { file: '../../etc/passwd' },
      'the skill forms has no file "../../etc/passwd"; it has a.md, big.md, b.bin, c.bin',
    ],
    ['bytes that are no text', { file: 'b.bin' }, 'b.bin of the skill forms is no text; a program can read it'],
    ['a NUL', { file: 'c.bin' }, 'c.bin of the skill forms is no text; a program can read it'],
    ['a part too many', { file: 'a.md', part: 2 }, 'a.md of the skill forms has 1 parts'],
  ])('never reaches %s', async ([, args, content]) => {
    expect(await call(args)).toMatchObject({ status: 'failed', reached: false, content });
  });
});
