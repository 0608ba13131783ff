// Reads the engine that guests are built with, which the package brings, and holds it to its hash.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';

/** The files that a component depends on, below the package. */
export const engineFiles = [
  'packages/components/engine/engine.json',
  'packages/components/engine/engine.wasm',
] as const;

export interface GuestEngine {
  readonly bytes: Buffer;
  /** The version of componentize-qjs that it belongs to. With another it must not be used: the two share an interface that changes. */
  readonly componentizerVersion: string;
}

/** `E-ART-015` when the engine is not there or not the one that `engine.json` names: what it would build could not be trusted or repeated. */
export function readGuestEngine(packageRoot: string): GuestEngine {
  const [record, engine] = engineFiles.map((file) => join(packageRoot, file)) as [string, string];
  try {
    const { componentize_qjs: componentizerVersion, sha256 } = JSON.parse(readFileSync(record, 'utf8')) as Record<
      string,
      unknown
    >;
    const bytes = existsSync(engine) ? readFileSync(engine) : splicedEngine(packageRoot);
    const found = sha256Hex(bytes);
    if (typeof componentizerVersion === 'string' && found === sha256) return { bytes, componentizerVersion };
    throw new Diagnostic('E-ART-015', `${engine} has the hash ${found}, and ${record} names ${String(sha256)}`);
  } catch (error) {
    if (error instanceof Diagnostic || !(error instanceof Error)) throw error;
    throw new Diagnostic('E-ART-015', `cannot read the engine of guests: ${error.message}`, { cause: error });
  }
}

/** Where the code of the engine lies in the archive of a bundled component, and where it belongs in the rest. */
interface Splice {
  readonly archive: string;
  readonly from: number;
  readonly size: number;
  readonly at: number;
}

/** The engine as a package has it, which keeps no byte of it twice (scripts/splice-engine.mjs). */
function splicedEngine(packageRoot: string): Buffer {
  const dist = join(packageRoot, 'dist');
  const { archive, from, size, at } = JSON.parse(readFileSync(join(dist, 'engine', 'splice.json'), 'utf8')) as Splice;
  const rest = readFileSync(join(dist, 'engine', 'rest.bin'));
  const code = readFileSync(join(dist, 'bundled', ...archive.split('/'))).subarray(from, from + size);
  return Buffer.concat([rest.subarray(0, at), code, rest.subarray(at)]);
}
