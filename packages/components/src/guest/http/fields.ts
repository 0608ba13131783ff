/** Holds the headers of a request or a response for a component (`wasi:http/types#fields`). */

import { isHttpToken } from '@svc/protocol/header-syntax.ts';
import { HostObject } from '../retained.ts';
import { raise } from '../streams.ts';

export type FieldEntry = [name: string, value: Uint8Array];

type HeaderError = { readonly tag: 'invalid-syntax' | 'forbidden' | 'immutable' };

/** The bytes that one entry takes beside its text: the entry, its name and its array of bytes. */
const entryOverhead = 512;

/** How a message is framed and carried is the host's business. */
const forbiddenNames: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** `wasi:http/types#fields` */
export class Fields extends HostObject {
  #entries: FieldEntry[] = [];
  #bytes = 0;
  #mutable = true;

  static fromList(entries: readonly FieldEntry[]): Fields {
    const fields = new Fields();
    for (const [name, value] of entries) fields.append(name, value);
    return fields;
  }

  /** Fields that came from elsewhere and that the guest may only read. */
  static received(entries: readonly (readonly [string, Uint8Array])[]): Fields {
    const fields = new Fields();
    for (const [name, value] of entries) fields.#keep(name, value);
    fields.#mutable = false;
    return fields;
  }

  get(name: string): Uint8Array[] {
    return this.#matching(name).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.#matching(name).length > 0;
  }

  set(name: string, values: readonly Uint8Array[]): void {
    this.#check(name, values);
    this.#remove(name);
    for (const value of values) this.#keep(name, value);
  }

  delete(name: string): void {
    this.#check(name, []);
    this.#remove(name);
  }

  append(name: string, value: Uint8Array): void {
    this.#check(name, [value]);
    this.#keep(name, value);
  }

  /** The bytes are a copy already: nobody else has them. */
  #keep(name: string, value: Uint8Array): void {
    this.#bytes += entryBytes(name, value);
    this.holds(this.#bytes);
    this.#entries.push([name, value]);
  }

  entries(): FieldEntry[] {
    return this.#entries.map(([name, value]) => [name, value]);
  }

  clone(): Fields {
    const copy = new Fields();
    for (const [name, value] of this.#entries) copy.#keep(name, value);
    return copy;
  }

  /** A copy that may only be read. */
  frozen(): Fields {
    return Fields.received(this.#entries);
  }

  #matching(name: string): FieldEntry[] {
    const wanted = name.toLowerCase();
    return this.#entries.filter(([name]) => name.toLowerCase() === wanted);
  }

  #remove(name: string): void {
    const unwanted = name.toLowerCase();
    this.#entries = this.#entries.filter(([name]) => name.toLowerCase() !== unwanted);
    this.#bytes = this.#entries.reduce((sum, [name, value]) => sum + entryBytes(name, value), 0);
    this.holds(this.#bytes);
  }

  #check(name: string, values: readonly Uint8Array[]): void {
    if (!this.#mutable) fail('immutable');
    if (!isHttpToken(name) || !values.every(isFieldValue)) fail('invalid-syntax');
    if (forbiddenNames.has(name.toLowerCase())) fail('forbidden');
  }
}

/** What an entry counts for. */
export function entryBytes(name: string, value: Uint8Array): number {
  return entryOverhead + name.length + value.length;
}

/** Visible characters, spaces, tabs and bytes above ASCII. */
function isFieldValue(value: Uint8Array): boolean {
  return value.every((byte) => (byte >= 0x20 && byte !== 0x7f) || byte === 0x09);
}

function fail(tag: HeaderError['tag']): never {
  return raise({ tag });
}
