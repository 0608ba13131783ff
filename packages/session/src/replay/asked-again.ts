/** Compares what a session asks for when it is run again with what it asked for in the recording. */

import { type ValueDifference, valueDifference } from '@svc/record/journal/json-difference.ts';
import type { Effect } from '../recorder/recorder.ts';

/** Where a replay parts from its recording. */
export interface Divergence {
  readonly place: string;
  /** The port of an effect, or what else is met there. */
  readonly port: string;
  /** What is different, as a clause. */
  readonly problem: string;
  /** Where the input differs, as a JSON pointer, if the input is what differs. */
  readonly path?: string;
  readonly recorded?: unknown;
  readonly now?: unknown;
}

/** What is other than in the recording: a JSON pointer, and both values there. */
export type Difference = Required<Pick<Divergence, 'path' | 'recorded' | 'now'>>;

/** The first difference from what was recorded; null where the two are the same as JSON. */
export function differenceSince(recorded: unknown, now: unknown): Difference | null {
  const found = valueDifference(recorded, now);
  return found === null ? null : { path: found.path, recorded: found.a, now: found.b };
}

/** What a session asks for at a place, in the recording and now. */
export interface AskedAgain {
  readonly place: string;
  readonly recorded: Omit<Effect, 'place'>;
  readonly now: Omit<Effect, 'place'>;
}

/** Says how a request differs; null when the recorded answer fits it. */
export type Judge = (asked: AskedAgain) => Omit<Divergence, 'place' | 'port'> | null;

/** Finds fault with whatever differs, in the one session that it is for. */
export function exactly(): Judge {
  const requests = new ComparedRequests();
  return ({ recorded, now }) => {
    if (recorded.port !== now.port || recorded.name !== now.name) {
      return { problem: `asks for ${now.name} where the recording has ${recorded.port} ${recorded.name}` };
    }
    const found =
      now.port === 'model'
        ? requests.difference(recorded.input as object, now.input as object)
        : valueDifference(recorded.input, now.input);
    if (found === null) return null;
    return { problem: 'is asked with other input', path: found.path, recorded: found.a, now: found.b };
  };
}

/** Compares requests as `valueDifference` does. Each has the messages of the one before it again: two that are the same are compared once. */
class ComparedRequests {
  /** By the recorded one. */
  readonly #same = new WeakMap<object, object>();

  difference(recorded: object, now: object): ValueDifference | null {
    const [before, after] = [new Map(Object.entries(recorded)), new Map(Object.entries(now))];
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      const found = this.#part(key, before.get(key), after.get(key));
      if (found !== null) return found;
    }
    return null;
  }

  #part(key: string, recorded: unknown, now: unknown): ValueDifference | null {
    if (key !== 'messages' || !Array.isArray(recorded) || !Array.isArray(now)) {
      return valueDifference({ [key]: recorded }, { [key]: now });
    }
    for (const index of Array(Math.max(recorded.length, now.length)).keys()) {
      const found = this.#message(recorded[index], now[index], `/messages/${index}`);
      if (found !== null) return found;
    }
    return null;
  }

  #message(recorded: unknown, now: unknown, path: string): ValueDifference | null {
    if (!isObject(recorded) || !isObject(now)) return valueDifference(recorded, now, path);
    if (this.#same.get(recorded) === now) return null;
    const found = valueDifference(recorded, now, path);
    if (found === null) this.#same.set(recorded, now);
    return found;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
