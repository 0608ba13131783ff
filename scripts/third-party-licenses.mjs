// @ts-check
// Writes THIRD-PARTY-LICENSES: everything that is built into the package, and under which terms.
// With --check it only compares, and exits with 1 when the file is not up to date.

import { readFileSync, writeFileSync } from 'node:fs';

import { shippedSoftware } from './shipped-software.mjs';

/** @typedef {import('./shipped-software.mjs').Notice} Notice */

const target = new URL('../THIRD-PARTY-LICENSES', import.meta.url);
const rendered = render(shippedSoftware());

if (!process.argv.includes('--check')) writeFileSync(target, rendered);
else if (readFileSync(target, 'utf8') !== rendered) {
  console.error('THIRD-PARTY-LICENSES is not up to date: run node scripts/third-party-licenses.mjs');
  process.exitCode = 1;
}

/**
 * One section for each text, naming all that are under it.
 * @param {readonly Notice[]} all
 */
function render(all) {
  /** @type {Map<string, Notice[]>} */
  const byText = new Map();
  for (const notice of all) {
    const text = notice.text.replaceAll('\r\n', '\n').trim();
    byText.set(text, [...(byText.get(text) ?? []), notice]);
  }
  const sections = [...byText].map(([text, under]) =>
    [...under.map((notice) => `${spelt(notice)} (${notice.license})`), '', text].join('\n'),
  );
  const head = 'This package contains the software below.';
  return `${[head, ...sections].join(`\n\n${'='.repeat(100)}\n\n`)}\n`;
}

/** @param {Notice} notice */
function spelt({ name, version }) {
  return version === null ? name : `${name} ${version}`;
}
