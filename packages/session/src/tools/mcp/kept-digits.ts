/** Writes messages of the Model Context Protocol, with the digits of numbers that JavaScript cannot hold. */

import type * as Sdk from '@modelcontextprotocol/client';
import { type Digits, withDigits } from '@svc/kit/exact-json.ts';

/** The digits of the arguments of calls, until these are sent. */
export class KeptDigits {
  readonly #digits = new WeakMap<object, Digits>();

  /** These arguments are sent with these digits. */
  keep(args: object, digits: Digits): void {
    this.#digits.set(args, digits);
  }

  /** A message as JSON. */
  textOf(message: Sdk.JSONRPCMessage): string {
    const args = 'params' in message ? message.params?.['arguments'] : undefined;
    const digits = typeof args === 'object' && args !== null ? this.#digits.get(args) : undefined;
    if (digits === undefined) return JSON.stringify(message);
    const places = Object.entries(digits).map(([pointer, text]) => [`/params/arguments${pointer}`, text]);
    return withDigits(message, Object.fromEntries(places) as Digits);
  }
}
