/**
 * Types what a component has beside ECMAScript 2023, for `types` in its tsconfig.json: the interfaces that it imports by their names, such as
 * `svc:task/task@0.1.0`, and two classes that `svc build` puts in where they are used. There is no `console`, `fetch`, `process` or timer.
 */

import './dist/wit.js';

declare global {
  /** Turns text into UTF-8; half characters are replaced. */
  class TextEncoder {
    encode(text?: string): Uint8Array<ArrayBuffer>;
  }

  /** Turns UTF-8 into text, whole or in pieces. */
  class TextDecoder {
    constructor(label?: string, options?: { readonly fatal?: boolean; readonly ignoreBOM?: boolean });
    decode(bytes?: Uint8Array, options?: { readonly stream?: boolean }): string;
  }
}
