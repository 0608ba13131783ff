import { expect, it } from 'vitest';

import { fixedRow, renderTable } from './table.ts';

it('a table may have more rows than a call has arguments', () => {
  const rows = Array.from({ length: 300_000 }, (_, index) => [`artifact-${index}`, '1.0.0']);
  const { text } = renderTable([{ title: 'NAME' }, { title: 'VERSION' }], rows, { columns: null });
  expect(text.slice(0, 40)).toBe('NAME             VERSION\nartifact-0      '.slice(0, 40));
});

it.each([
  [80, ['NAME        VERSION  DESCRIPTION', 'artifact-1  1.0.0    How to write Prose.']],
  [30, ['NAME        VERSION  DESCRIPT…', 'artifact-1  1.0.0    How to w…']],
  [20, ['NAME        VERSION…', 'artifact-1  1.0.0  …']],
  [12, ['NAME       …', 'artifact-1 …']],
])('a table has no row that is wider than a terminal of %i columns', (columns, rows) => {
  const shape = [{ title: 'NAME' }, { title: 'VERSION', keeps: 7 }, { title: 'DESCRIPTION', keeps: 8 }];
  const { text } = renderTable(shape, [['artifact-1', '1.0.0', 'How to write Prose.']], { columns });
  expect(text).toBe(rows.map((row) => `${row}\n`).join(''));
});

it('a row of fixed columns is no wider than a terminal that is narrower than what they keep', () => {
  const shape = [
    { title: 'STEP', keeps: 6 },
    { title: 'WHAT', keeps: 10, fills: true },
  ] as const;
  expect(fixedRow(shape, ['#1', 'a long command'], { columns: 12 }).text).toBe('#1      a l…\n');
});
