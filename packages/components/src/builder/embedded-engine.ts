// Finds the engine of guests in the native addon of componentize-qjs, which holds several.
import { MalformedWasm, WasmReader } from '../core-module.ts';

const magic = Buffer.from('\0asm\x01\0\0\0', 'latin1');
const smallest = 100_000;
const lastSection = 13;

/**
 * The engine without the intrinsics of async tasks that was made for size: what componentize-qjs takes for `sync` and `optSize`. Throws when the
 * addon does not hold two engines without those intrinsics, one for speed and one for size.
 */
export function embeddedEngine(addon: Buffer): Buffer {
  const found: Buffer[] = [];
  for (let start = addon.indexOf(magic); start !== -1; start = addon.indexOf(magic, start + 1)) {
    const engine = addon.subarray(start, endOfModule(addon, start));
    if (engine.length < smallest) continue;
    const imports = engine.toString('latin1', 0, 20_000);
    if (imports.includes('local:init/module-loader') && !imports.includes('[task-cancel]')) found.push(engine);
  }
  if (found.length !== 2) throw new Error(`the addon embeds ${found.length} engines without async tasks, not 2`);
  const [one, other] = found as [Buffer, Buffer];
  return one.length < other.length ? one : other;
}

/** Where the sections of a module end and something else begins. */
function endOfModule(addon: Buffer, start: number): number {
  const reader = new WasmReader(addon, start + magic.length);
  let end = reader.at;
  try {
    while (!reader.done) {
      const id = reader.byte();
      const length = reader.count();
      const body = reader.take(length);
      if (id > lastSection || length === 0 || (id === 0 && !isNamed(body))) break;
      end = reader.at;
    }
  } catch (error) {
    if (!(error instanceof MalformedWasm)) throw error;
  }
  return end;
}

/** A custom section begins with its name. */
function isNamed(body: Uint8Array): boolean {
  const reader = new WasmReader(body);
  const name = Buffer.from(reader.take(reader.count())).toString('latin1');
  return /^[\x20-\x7e]+$/.test(name);
}
