import { gzipSync } from 'node:zlib';

import { expect, it } from 'vitest';

import { buildPage } from './support/page-document.ts';

/** In bytes, of program and look together. ADR 0158 says what it is made of. */
const mostBytes = 47_500;

it(`the page takes less than ${mostBytes} bytes, gzipped`, async () => {
  const { page, css } = await buildPage();
  expect(gzipSync(page + css, { level: 9 }).length).toBeLessThan(mostBytes);
});
