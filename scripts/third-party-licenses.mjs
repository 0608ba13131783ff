// @ts-check
// Writes THIRD-PARTY-LICENSES: everything that is built into the package, and under which terms.
// With --check it only compares, and exits with 1 when the file is not up to date.

import { readFileSync, writeFileSync } from 'node:fs';

import { renderNotices, shippedSoftware } from './shipped-software.mjs';

const target = new URL('../THIRD-PARTY-LICENSES', import.meta.url);
const rendered = renderNotices(shippedSoftware());

if (!process.argv.includes('--check')) writeFileSync(target, rendered);
else if (readFileSync(target, 'utf8') !== rendered) {
  console.error('THIRD-PARTY-LICENSES is not up to date: run node scripts/third-party-licenses.mjs');
  process.exitCode = 1;
}
