/** Compares paths of the host that a manifest names, each in one spelling. */

/** How many paths a list holds at most: each is a rule of every launch. */
export const maxHostPaths = 64;
const maxPath = 4096;

/**
 * An absolute path, spelt one way: without `.`, edge or double slashes. Undefined for `/` itself, a relative path, and one that holds NUL or a `..`
 * component, wherever that would lead.
 */
export function normalizeHostPath(path: string): string | undefined {
  if (!path.startsWith('/') || path.includes('\0') || path.length > maxPath) return undefined;
  const components = path.split('/').filter((component) => component !== '' && component !== '.');
  if (components.length === 0 || components.includes('..')) return undefined;
  return `/${components.join('/')}`;
}

/** A path in its normal spelling, and each folder above it except `/`. */
export function waysTo(path: string): readonly string[] {
  const components = path.split('/').slice(1);
  return components.map((_, index) => `/${components.slice(0, index + 1).join('/')}`);
}
