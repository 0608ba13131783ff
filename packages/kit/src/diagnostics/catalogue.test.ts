import { readdirSync, readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { catalogue } from './catalogue.ts';

it('the catalogue explains each code in one place', () => {
  const folder = new URL('.', import.meta.url);
  const files = readdirSync(folder).filter((file) => file === 'catalogue.ts' || file.endsWith('-codes.ts'));
  const codes = files.flatMap((file) =>
    [...readFileSync(new URL(file, folder), 'utf8').matchAll(/^ {2}'([EW]-[A-Z]+-\d{3})': \{/gm)].map(
      ([, code]) => code,
    ),
  );
  expect(new Set(codes)).toEqual(new Set(Object.keys(catalogue)));
  expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([]);
});
