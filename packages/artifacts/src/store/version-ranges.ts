/** Orders versions and says which of them a range allows. Only commands that choose a version load it; nothing is chosen in `svc run`. */

import Range from 'semver/classes/range.js';
import SemVer from 'semver/classes/semver.js';

/**
 * Whether a range allows a version (docs/cli.md "Ranges"): by the order of semantic versions, a pre-release only where the range names one of the same
 * three numbers. A version that is no semantic version is allowed by itself alone.
 */
export function allows(range: string, version: string): boolean {
  if (range === version) return true;
  const parsed = semantic(version);
  if (parsed === null) return false;
  // One by one: where one is `>=0`, the library drops the others, and with them the pre-releases that they name.
  return range.split('||').some((alternative) => rangeOf(alternative)?.test(parsed) ?? false);
}

/** The highest version that a range allows; null when it allows none of them. */
export function highest(range: string, versions: readonly string[]): string | null {
  const allowed = versions.filter((version) => allows(range, version));
  return allowed.reduce<string | null>(
    (best, version) => (best === null || compareVersions(version, best) > 0 ? version : best),
    null,
  );
}

/** The range of what may replace a version without breaking who uses it; null for one that is no semantic version. */
export function compatibleRange(version: string): string | null {
  return semantic(version) === null ? null : `^${version}`;
}

/**
 * Negative where `left` comes before `right`. Versions that are no semantic ones come before all others, by their text; so do build metadata, which
 * semantic versions do not order, among versions that differ in them alone.
 */
export function compareVersions(left: string, right: string): number {
  const [one, other] = [semantic(left), semantic(right)];
  if (one === null || other === null) return Number(one !== null) - Number(other !== null) || byText(left, right);
  return one.compare(other) || byText(left, right);
}

function byText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** The library takes a `v` in front, which versions here do not have. */
function semantic(version: string): SemVer | null {
  return /^\d/.test(version) ? madeOf(() => new SemVer(version)) : null;
}

function rangeOf(text: string): Range | null {
  return madeOf(() => new Range(text));
}

/** Returns null where the library refuses the text, which it does with a `TypeError`. */
function madeOf<Made>(make: () => Made): Made | null {
  try {
    return make();
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
