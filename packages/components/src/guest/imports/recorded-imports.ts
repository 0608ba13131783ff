/** Writes down what imports answer a component, while they do. */

import type { ImportLogEntry, LoggedOutcome } from '../../import-log.ts';
import type { Imports } from '../named-imports.ts';
import { HostObject } from '../retained.ts';
import { encodeLogged, type Handles, withoutCredentials } from './logged-value.ts';

type AnyFunction = (...args: unknown[]) => unknown;
type AnyClass = new (...args: unknown[]) => object;

/** A member of an interface that is a class of things a component has handles of. */
export function isClass(member: unknown): member is AnyClass {
  return typeof member === 'function' && member.prototype instanceof HostObject;
}

/** The names of functions that an object has itself. */
export function functionNames(object: object): readonly string[] {
  return Object.getOwnPropertyNames(object).filter(
    (name) => name !== 'constructor' && typeof Object.getOwnPropertyDescriptor(object, name)?.value === 'function',
  );
}

/** The names of the methods of a class of things, those of the classes that it extends included. */
export function methodNames(prototype: object): readonly string[] {
  const names = new Set<string>();
  for (let each = prototype; each !== HostObject.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const name of functionNames(each)) names.add(name);
  }
  return [...names];
}

/** Writes down the calls of imports, as far as they come from the component itself and fit into `maxBytes` between two takes. */
export class ImportRecorder {
  readonly #maxBytes: number;
  readonly #handles = new NumberedHandles();
  #entries: string[] = [];
  #bytes = 0;
  /** Too much has been said: nothing of this instance is kept from here on, for nothing of it could be run again. */
  #isFull = false;
  /** How deep the imports themselves are in calls of each other. */
  #depth = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The same imports, which are written down. Changes their classes in place. */
  recorded(imports: Imports): Imports {
    const made = new Map<unknown, unknown>();
    return mapMembers(imports, (member, name) => {
      if (!isClass(member)) return typeof member === 'function' ? this.#function(name, member as AnyFunction) : member;
      if (!made.has(member)) made.set(member, this.#class(name, member));
      return made.get(member);
    });
  }

  /** What was asked since the last take, as JSON; null once it was too much. */
  take(): string | null {
    if (this.#isFull) return null;
    const log = `[${this.#entries.join(',')}]`;
    this.#entries = [];
    this.#bytes = 0;
    return log;
  }

  #function(name: string, original: AnyFunction): AnyFunction {
    return (...args) => this.#through(name, args, () => original(...args));
  }

  #class(name: string, original: AnyClass): AnyClass {
    this.#handles.name(original, name);
    const through = this.#through.bind(this);
    const { prototype } = original as { readonly prototype: object };
    for (const member of methodNames(prototype)) {
      const method = Reflect.get(prototype, member) as AnyFunction;
      Reflect.defineProperty(prototype, member, {
        value(this: unknown, ...args: unknown[]) {
          return through(`${name}.${member}`, [this, ...args], () => method.apply(this, args));
        },
      });
    }
    for (const member of functionNames(original)) {
      const method = Reflect.get(original, member) as AnyFunction;
      const value = (...args: unknown[]): unknown =>
        this.#through(`${name}.${member}`, args, () => method.apply(original, args));
      Reflect.defineProperty(original, member, { value });
    }
    return new Proxy(original, {
      construct: (target, args: unknown[]) =>
        this.#through(`${name}.new`, args, () => Reflect.construct(target, args)) as object,
    });
  }

  #through(name: string, args: readonly unknown[], perform: () => unknown): unknown {
    if (this.#isFull || this.#depth > 0) return perform();
    const given = this.#fitsOrOverflows(args) ? args.map((arg) => encodeLogged(arg, this.#handles)) : [];
    const keep = (outcome: () => LoggedOutcome): void => {
      if (!this.#isFull) this.#keep([name, given, outcome()]);
    };
    this.#depth += 1;
    try {
      const value = perform();
      if (this.#fitsOrOverflows(value)) keep(() => ({ ok: encodeLogged(value, this.#handles) }));
      return value;
    } catch (error) {
      if (error instanceof Error) keep(() => ({ trap: error.message }));
      else if (this.#fitsOrOverflows(error)) keep(() => ({ err: encodeLogged(error, this.#handles) }));
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  #keep(entry: ImportLogEntry): void {
    const text = JSON.stringify(withoutCredentials(entry));
    this.#bytes += Buffer.byteLength(text) + 1;
    if (this.#bytes > this.#maxBytes) this.#overflow();
    else this.#entries.push(text);
  }

  /** Whether a value can fit, found without writing it out. Where it cannot, nothing of this instance is kept from here on. */
  #fitsOrOverflows(value: unknown): boolean {
    let room = this.#maxBytes - this.#bytes;
    const pending: unknown[] = [value];
    while (pending.length > 0 && room >= 0) {
      const next = pending.pop();
      room -= 1;
      if (typeof next === 'string') room -= next.length;
      else if (ArrayBuffer.isView(next)) room -= next.byteLength;
      else if (typeof next === 'object' && next !== null && !(next instanceof HostObject))
        for (const each of Object.values(next)) pending.push(each);
    }
    if (room < 0) this.#overflow();
    return room >= 0;
  }

  #overflow(): void {
    this.#isFull = true;
    this.#entries = [];
  }
}

/** Each member of each interface as `change` gives it. */
export function mapMembers(imports: Imports, change: (member: unknown, name: string) => unknown): Imports {
  return Object.fromEntries(
    Object.entries(imports).map(([interfaceName, members]) => [
      interfaceName,
      Object.fromEntries(
        Object.entries(members).map(([name, member]) => [name, change(member, `${interfaceName}#${name}`)]),
      ),
    ]),
  );
}

class NumberedHandles implements Handles {
  readonly #names = new Map<unknown, string>();
  readonly #numbers = new WeakMap<HostObject, number>();
  #last = 0;

  name(original: AnyClass, name: string): void {
    this.#names.set(original, name);
  }

  numbered(object: HostObject): readonly [number, string] {
    let number = this.#numbers.get(object);
    if (number === undefined) this.#numbers.set(object, (number = this.#last += 1));
    return [number, this.#names.get(object.constructor) ?? object.constructor.name];
  }
}
