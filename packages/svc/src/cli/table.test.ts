import { expect, it } from 'vitest';

import { renderTable } from './table.ts';

it('a table may have more rows than a call has arguments', () => {
  const rows = Array.from({ length: 300_000 }, (_, index) => [`artifact-${index}`, '1.0.0']);
  const { text } = renderTable([{ title: 'NAME' }, { title: 'VERSION' }], rows, { columns: null });
  expect(text.slice(0, 40)).toBe('NAME             VERSION\nartifact-0      '.slice(0, 40));
});
