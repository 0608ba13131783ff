/** Has the engine take modules that Node 20 takes only under a flag. */

import { setFlagsFromString } from 'node:v8';

/** `(module (global i32 (i32.add (i32.const 0) (i32.const 0))))` */
const probe = Uint8Array.from([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x06, 0x09, 0x01, 0x7f, 0x00, 0x41, 0x00, 0x41, 0x00, 0x6a, 0x0b,
]);

/**
 * Lets the engine of this process read constant expressions that add and multiply, which components built from JavaScript hold and Node 20
 * takes only under a flag. Call it before the first module is read.
 */
export function allowExtendedConst(): void {
  if (!WebAssembly.validate(probe)) setFlagsFromString('--experimental-wasm-extended-const');
}
