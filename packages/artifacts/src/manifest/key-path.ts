/** Where a value stands in a file, how that is written, and how untrusted data are looked up by it. */

import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';

/** Where a value stands in a file: keys and list positions from the top. */
export type KeyPath = readonly (string | number)[];

const plainKey = /^[A-Za-z_][\w-]{0,59}$/;

/** `artifacts[0].version`, the way the documentation writes keys. */
export function renderKeyPath(path: KeyPath): string {
  let rendered = '';
  for (const segment of path) {
    if (typeof segment === 'number') rendered += `[${segment}]`;
    else rendered += rendered === '' ? renderKey(segment) : `.${renderKey(segment)}`;
  }
  return rendered;
}

/** One key, quoted and cut when it is not a plain word. */
export function renderKey(key: string): string {
  if (plainKey.test(key)) return key;
  const cut = shortened(key, 60);
  return `"${printable(cut)}"`;
}

const credentialKey = /(^|[_-])(api_?key|auth|key|token|secret|password|passphrase|credential)s?$/i;

/** True when the key's value may be a credential, so that no message repeats it. */
export function holdsCredential(path: KeyPath): boolean {
  return path.some((segment) => typeof segment === 'string' && credentialKey.test(segment));
}

/** A look at untrusted data that answers undefined where the shape is another. */
export class Draft {
  readonly #data: unknown;

  constructor(data: unknown) {
    this.#data = data;
  }

  at(...path: KeyPath): unknown {
    let value = this.#data;
    for (const key of path) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
      value = (value as Record<string | number, unknown>)[key];
    }
    return value;
  }

  has(...path: KeyPath): boolean {
    return this.at(...path) !== undefined;
  }

  isBlock(...path: KeyPath): boolean {
    const value = this.at(...path);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  }

  list(...path: KeyPath): readonly unknown[] {
    const value = this.at(...path);
    return Array.isArray(value) ? value : [];
  }
}
