/** Answers the imports of a component out of a log: nothing of the host is behind them. */

import type { ImportLogEntry, LoggedValue } from '../../import-log.ts';
import type { Imports } from '../named-imports.ts';
import { HostObject } from '../retained.ts';
import { decodeLogged, encodeLogged, type Handles, withoutCredentials } from './logged-value.ts';
import { functionNames, isClass, mapMembers, methodNames } from './recorded-imports.ts';

/** Where a component leaves its log. */
export interface Departure {
  /** Index of the entry that it should have met. */
  readonly at: number;
  /** What it asks for; null where it returns instead. */
  readonly asked: string | null;
  /** What it gives with that, as JSON. */
  readonly args: string;
}

type PlayedClass = new () => Played;

/** A thing that a component has a handle of; it is a number and has no state. */
class Played extends HostObject {
  number = 0;
}

/** Answers in the order of a log. */
export class ImportPlayer {
  readonly #onDeparture: (departure: Departure) => never;
  readonly #onOutput: (bytes: Uint8Array) => void;
  /** Handles of stdout and stderr. */
  readonly #outputs = new Set<number>();
  readonly #classes = new Map<string, PlayedClass>();
  readonly #handles: Handles = {
    numbered: (object) => [(object as Played).number, this.#names.get(object.constructor) ?? ''],
  };
  readonly #names = new Map<unknown, string>();
  #log: readonly ImportLogEntry[] = [];
  #next = 0;

  /** `onDeparture` ends the process: the component does not go on from there. `onOutput` is given what it writes to stdout and stderr. */
  constructor(onDeparture: (departure: Departure) => never, onOutput: (bytes: Uint8Array) => void) {
    this.#onDeparture = onDeparture;
    this.#onOutput = onOutput;
  }

  /** What is played from now on: a list of `ImportLogEntry` as JSON, whose shape was checked. */
  load(log: string): void {
    this.#log = JSON.parse(log) as readonly ImportLogEntry[];
    this.#next = 0;
  }

  /** The component has returned: whatever it was answered after that is missing. */
  finish(): void {
    if (this.#next < this.#log.length) this.#onDeparture({ at: this.#next, asked: null, args: '[]' });
  }

  /** Imports of the same names, which do nothing. */
  played(imports: Imports): Imports {
    return mapMembers(imports, (member, name) => {
      if (isClass(member)) return this.#class(name, member);
      return typeof member === 'function' ? (...args: unknown[]) => this.#answer(name, args) : member;
    });
  }

  #class(name: string, original: object & { readonly prototype: object }): PlayedClass {
    const answer = this.#answer.bind(this);
    const made = class extends Played {
      constructor(...args: unknown[]) {
        super();
        // Nobody has asked for a new one of those that the log brings back.
        if (args[0] !== revived) this.number = numberOf(answer(`${name}.new`, args));
      }
    };
    for (const member of methodNames(original.prototype)) {
      const value = function (this: Played, ...args: unknown[]): unknown {
        return answer(`${name}.${member}`, [this, ...args]);
      };
      Reflect.defineProperty(made.prototype, member, { value });
    }
    for (const member of functionNames(original)) {
      Reflect.defineProperty(made, member, { value: (...args: unknown[]) => this.#answer(`${name}.${member}`, args) });
    }
    this.#classes.set(name, made);
    this.#names.set(made, name);
    return made;
  }

  #answer(name: string, args: readonly unknown[]): unknown {
    const entry = this.#log[this.#next];
    const given = args.map((arg) => encodeLogged(arg, this.#handles));
    const [, shown] = withoutCredentials([name, given, { ok: null }]);
    const now = JSON.stringify(shown);
    if (entry === undefined || entry[0] !== name || !isSame(entry[1], shown)) {
      return this.#onDeparture({ at: this.#next, asked: name, args: now });
    }
    this.#next += 1;
    const [, , outcome] = entry;
    this.#hear(name, args);
    if ('trap' in outcome) throw new Error(outcome.trap);
    if ('err' in outcome) throw this.#decode(outcome.err);
    const value = this.#decode(outcome.ok);
    if (outputNames.has(name) && value instanceof Played) this.#outputs.add(value.number);
    return value;
  }

  /** The end of what a component says is part of how it breaks off. */
  #hear(name: string, [stream, contents]: readonly unknown[]): void {
    if (!writeNames.has(name) || !(stream instanceof Played) || !this.#outputs.has(stream.number)) return;
    if (contents instanceof Uint8Array) this.#onOutput(contents);
  }

  #decode(value: LoggedValue): unknown {
    return decodeLogged(value, (number, name) => {
      const known = this.#classes.get(name);
      if (known === undefined) return undefined;
      const object = new (known as unknown as new (mark: symbol) => Played)(revived);
      object.number = number;
      return object;
    });
  }
}

const outputNames: ReadonlySet<string> = new Set(['wasi:cli/stdout#getStdout', 'wasi:cli/stderr#getStderr']);
const writeNames: ReadonlySet<string> = new Set(
  ['write', 'blockingWriteAndFlush'].map((method) => `wasi:io/streams#OutputStream.${method}`),
);

function numberOf(made: unknown): number {
  return made instanceof Played ? made.number : 0;
}

const revived = Symbol('brought back by the log');

/** Whether both are the same as JSON, in whatever order their keys are. */
function isSame(a: LoggedValue | undefined, b: LoggedValue | undefined): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const [ofA, ofB] = [a, b] as readonly Readonly<Record<string, LoggedValue>>[];
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(ofA?.[key], ofB?.[key]))
  );
}
