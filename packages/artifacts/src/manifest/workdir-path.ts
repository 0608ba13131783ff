/** Compares paths below the workdir, and below the folder of a project, each in one spelling. */

/**
 * A path below the accessible workdir, spelt one way: `.` for the workdir itself, no `./`, no edge or double slashes.
 * Undefined when it is empty, absolute, holds NUL, or has a `..` component, wherever that would lead (docs/manifest.md "Keys").
 */
export function normalizeWorkdirPath(path: string): string | undefined {
  if (path === '' || path.startsWith('/') || path.includes('\0')) return undefined;
  const components = path.split('/').filter((component) => component !== '' && component !== '.');
  if (components.includes('..')) return undefined;
  return components.length === 0 ? '.' : components.join('/');
}

/** A path below the accessible workdir in its normal spelling, `.` for all of it. */
export type WorkdirPath = string;

/** True when `inner` is `outer` or beneath it. */
export function isWithin(outer: WorkdirPath, inner: WorkdirPath): boolean {
  return outer === '.' || inner === outer || inner.startsWith(`${outer}/`);
}

/** What lies in both; null when nothing does. */
export function intersection(one: WorkdirPath, other: WorkdirPath): WorkdirPath | null {
  if (isWithin(one, other)) return other;
  return isWithin(other, one) ? one : null;
}

/** How many paths `capabilities.project.mask` lists at most: a folder has 256 masked places together. */
export const maxMasks = 64;
const maxPath = 4096;

/** As `normalizeWorkdirPath`: below the folder that `capabilities.project` names, or that of its manifest. */
export function normalizeProjectPath(path: string): string | undefined {
  return path.length > maxPath ? undefined : normalizeWorkdirPath(path);
}
