import { describe, expect, it } from 'vitest';

import { blocksOf } from './markdown.ts';

const prose = (text: string): object => ({ kind: 'prose', spans: [{ kind: 'text', text }] });

describe('the Markdown of a model', () => {
  it('has headings, code, tables and bold, and keeps lists, quotes, links and HTML as they are written', () => {
    const text = [
      '# What I found',
      '',
      'The **parser** drops it, see `a*.ts`:',
      '',
      '```ts title',
      '# no heading',
      '  return a; // **x**',
      '```',
      '- one',
      '> [click](https://evil.example/) <img src=x>',
      '',
      '| file | lines |',
      '|---|--:|',
      '| `a\\|b` | 12 |',
      'end',
    ].join('\n');
    expect(blocksOf(text)).toEqual([
      { kind: 'heading', spans: [{ kind: 'text', text: 'What I found' }] },
      {
        kind: 'prose',
        spans: [
          { kind: 'text', text: 'The ' },
          { kind: 'bold', text: 'parser' },
          { kind: 'text', text: ' drops it, see ' },
          { kind: 'code', text: 'a*.ts' },
          { kind: 'text', text: ':' },
        ],
      },
      { kind: 'code', about: 'ts title', text: '# no heading\n  return a; // **x**' },
      prose('- one\n> [click](https://evil.example/) <img src=x>'),
      {
        kind: 'table',
        rows: [
          [[{ kind: 'text', text: 'file' }], [{ kind: 'text', text: 'lines' }]],
          [[{ kind: 'code', text: 'a|b' }], [{ kind: 'text', text: '12' }]],
        ],
      },
      prose('end'),
    ]);
  });

  it.each([
    ['2**3**4', [prose('2**3**4')]],
    ['#no heading', [prose('#no heading')]],
    ['a | b\nc | d', [prose('a | b\nc | d')]],
    ['```', [{ kind: 'code', about: '', text: '' }]],
    ['~~~~\n```\n~~~\n~~~~', [{ kind: 'code', about: '', text: '```\n~~~' }]],
    ['', []],
  ])('has these parts where it is %j', (text, blocks) => {
    expect(blocksOf(text)).toEqual(blocks);
  });

  it('leaves a table as it is written that is too large to be drawn', () => {
    const rows = (count: number): string => `a|b\n-|-\n${'c|d\n'.repeat(count)}`;
    expect(blocksOf(rows(199)).map(({ kind }) => kind)).toEqual(['table']);
    expect(blocksOf(rows(200)).map(({ kind }) => kind)).toEqual(['prose']);
  });

  it.each(['`', '**', '**a*', '|', '|-', '\n', '```\n', '# ', '-|', '~~~', ' |\n-|-\n', '\\|'])(
    'costs no more than in proportion where it is %j over and over',
    (piece) => {
      const text = piece.repeat(120_000 / piece.length);
      const shown = blocksOf(text).length;
      expect(shown).toBeLessThanOrEqual(text.length);
    },
  );
});
