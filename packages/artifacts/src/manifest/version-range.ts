/** Recognises ranges of versions, such as `^1.2`; `store/version-ranges.ts` says which versions a range allows. */

import { isExactVersion, maxName } from './names.ts';

const number = String.raw`(?:0|[1-9]\d{0,14})`;
const part = `(?:${number}|[xX*])`;
const identifiers = String.raw`[0-9A-Za-z-]{1,100}(?:\.[0-9A-Za-z-]{1,100}){0,20}`;
const prerelease = String.raw`(?:0|[1-9]\d{0,14}|\d{0,100}[A-Za-z-][0-9A-Za-z-]{0,100})`;
const version = String.raw`${part}(?:\.${part}(?:\.${part}(?:-${prerelease}(?:\.${prerelease}){0,20})?(?:\+${identifiers})?)?)?`;
// The blanks belong to the operator: two repetitions beside each other could share a run of them in many ways.
const comparator = `(?:(?:[~^=]|[<>]=?) {0,4})?${version}`;
const comparators = `${comparator}(?: {1,4}${comparator}){0,20}`;
const rangeShape = new RegExp(`^${comparators}(?: {0,4}\\|\\| {0,4}${comparators}){0,20}$`);

/**
 * Returns whether a text is a range (docs/cli.md "Ranges"): an exact version, or versions behind the operators `^ ~ >= <= < > =`. The last parts of
 * a version may be absent or `x`. Blanks mean "and", `||` means "or".
 */
export function isVersionRange(text: string): boolean {
  return text.length <= maxName && (isExactVersion(text) || rangeShape.test(text));
}
