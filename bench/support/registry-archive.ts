/** Makes archives to be published. */

import { createHash } from 'node:crypto';

import { packArchive } from '@svc/artifacts/store/archive-writer.ts';
import { encodeRecord } from '@svc/registry/artifact-records.ts';

/** The name under which every archive of the benchmark is published. */
export const archiveName = 'bench';

const componentBytes = 1024 * 1024;

/** An archive of a tool as `svc build` packs it, a megabyte large; every version has its own bytes. */
export async function toolArchive(version: string): Promise<Buffer> {
  const manifest = `name: ${archiveName}\nversion: ${version}\nruntime: tool\ndescription: A tool.\n`;
  const chunks: Uint8Array[] = [];
  const files = [
    { name: 'svc.yaml', data: Buffer.from(manifest) },
    { name: 'component.wasm', data: componentOf(version) },
  ];
  for await (const chunk of packArchive(files)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What a registry keeps of a version beside its archive. */
export function recordOf(version: string): string {
  return encodeRecord({
    name: archiveName,
    version,
    runtime: 'wasm',
    artifact_runtime: 'tool',
    platforms: [],
    sha256: '0'.repeat(64),
    bytes: componentBytes,
    description: 'A tool.',
    tags: [],
    published_at: null,
    published_by: null,
  });
}

/** The head of a component, and bytes that nothing compresses. */
function componentOf(version: string): Buffer {
  const head = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]);
  const block = createHash('shake256', { outputLength: componentBytes }).update(version).digest();
  return Buffer.concat([head, block]);
}
