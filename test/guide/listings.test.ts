import { describe, expect, it } from 'vitest';

import { sectionsOf, shownAs } from './listings.ts';

const fence = '```';
function block(info: string, text: string): string {
  return `${fence}${info}\n${text}\n${fence}\n`;
}

describe('the listings of a guide', () => {
  it('list files, commands and what commands show, by section', () => {
    const guide = `# A guide\n\n## One\n${block('ts file=a/b.ts', 'let b;')}text\n${block('sh fails', 'ls')}${block('text', 'no')}\n## Two\n${block('sh', 'cd a')}`;
    expect(sectionsOf(guide)).toEqual([
      {
        title: 'One',
        listings: [
          { kind: 'file', path: 'a/b.ts', text: 'let b;\n' },
          { kind: 'commands', text: 'ls\n', fails: true, terminal: 'own', output: 'no\n' },
        ],
      },
      {
        title: 'Two',
        listings: [{ kind: 'commands', text: 'cd a\n', fails: false, terminal: 'own', output: null }],
      },
    ]);
  });

  it('fail when nothing would be done with one', () => {
    expect(() => sectionsOf(block('ts', 'let b;'))).toThrow('nothing is done with the listing `ts`');
    expect(() => sectionsOf(block('text', 'shown by nobody'))).toThrow('nothing is done with the listing `text`');
  });

  it('show what they show to the letter, with an ellipsis for anything', () => {
    expect('status: ok (1 of 2)').toMatch(shownAs('status: … (1 of 2)\n'));
    expect('status: ok, 1 of 2').not.toMatch(shownAs('status: … (1 of 2)'));
  });
});
