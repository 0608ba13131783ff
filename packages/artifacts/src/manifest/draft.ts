import type { KeyPath } from './key-path.ts';

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
