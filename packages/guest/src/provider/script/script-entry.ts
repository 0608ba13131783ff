/** Reads the values of one entry of a script, and says which key is wrong. */

import { countIn, type JsonObject } from '../../json.ts';

/** One entry of a script while it is read: finds values of the right type or says in one line which key is wrong. */
export class Entry {
  readonly #script: string;
  readonly #number: number;

  constructor(script: string, number: number) {
    this.#script = script;
    this.#number = number;
  }

  /** `path` is the key as a person would write it, `''` for the entry itself. */
  fault(path: string, problem: string): Error {
    return new Error(`script ${this.#script}: response ${this.#number}${path === '' ? '' : `, ${path}`}: ${problem}`);
  }

  allowOnly(path: string, value: JsonObject, keys: readonly string[]): void {
    const unknown = Object.keys(value).find((key) => !keys.includes(key));
    if (unknown === undefined) return;
    throw this.fault(path === '' ? unknown : `${path}.${unknown}`, `is not known; the keys are ${keys.join(', ')}`);
  }

  text(parent: JsonObject, key: string, path: string): string {
    const value = parent[key];
    if (value === undefined) throw this.fault(path, 'is missing');
    if (typeof value !== 'string') throw this.fault(path, 'must be text');
    return value;
  }

  optionalText(parent: JsonObject, key: string): string | null {
    return parent[key] === undefined ? null : this.text(parent, key, key);
  }

  count(parent: JsonObject, key: string, path: string, most: number = Number.MAX_SAFE_INTEGER): number {
    if (parent[key] === undefined) throw this.fault(path, 'is missing');
    const value = countIn(parent, key);
    if (value === null || value > most) throw this.fault(path, `must be a whole number from 0 to ${most}`);
    return value;
  }

  optionalCount(parent: JsonObject, key: string, most: number): number | null {
    return parent[key] === undefined ? null : this.count(parent, key, key, most);
  }
}
