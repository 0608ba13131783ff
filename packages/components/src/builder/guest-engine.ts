// Reads the engine that guests are built with, which the package brings, and holds it to its hash.
import { readFileSync } from 'node:fs';
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
    const bytes = readFileSync(engine);
    const found = sha256Hex(bytes);
    if (typeof componentizerVersion === 'string' && found === sha256) return { bytes, componentizerVersion };
    throw new Diagnostic('E-ART-015', `${engine} has the hash ${found}, and ${record} names ${String(sha256)}`);
  } catch (error) {
    if (error instanceof Diagnostic || !(error instanceof Error)) throw error;
    throw new Diagnostic('E-ART-015', `cannot read the engine of guests: ${error.message}`, { cause: error });
  }
}
