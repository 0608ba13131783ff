/** `(module (global i32 (i32.add (i32.const 0) (i32.const 0))))` */
const probe = Uint8Array.from([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x06, 0x09, 0x01, 0x7f, 0x00, 0x41, 0x00, 0x41, 0x00, 0x6a, 0x0b,
]);

/** Whether the engine reads constant expressions that add and multiply, which components built from JavaScript hold, under a flag only: Node 20 does. */
export function needsExtendedConst(): boolean {
  return !WebAssembly.validate(probe);
}
