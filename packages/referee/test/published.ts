import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import { variantPaths } from '@svc/artifacts/store/store-layout.ts';
import { archiveBytes } from '../../artifacts/test/store/artifacts.ts';

export const platform = 'linux-x86_64';

export interface Publication {
  readonly name?: string;
  readonly version?: string;
  readonly platform?: string | null;
  /** Beside the archive, where another is to stand than the one of its bytes. */
  readonly record?: string;
}

/** The manifest of a capsule that has only `text` beside what has to be there. */
export function capsuleText(text = '', name = 'child'): string {
  return `name: ${name}\nversion: 1.0.0\ninference: { transport: process, command: agent }\n${text}\n`;
}

/** An archive that holds this manifest and nothing else. */
export async function capsuleBytes(manifest: string): Promise<Buffer> {
  return await archiveBytes([{ name: 'svc.yaml', data: Buffer.from(manifest) }]);
}

/** Lays bytes down in a registry as a store has them, whatever they are; the files that lie there are replaced. Returns their hash. */
export async function publish(root: string, bytes: Buffer, publication: Publication = {}): Promise<string> {
  const { name = 'child', version = '1.0.0', platform: variant = null, record } = publication;
  return await publishAt(variantPaths(root, { name, version }, variant).archive, bytes, record);
}

/** As `publish`, also where no store would put an archive. */
export async function publishAt(archive: string, bytes: Buffer, record?: string): Promise<string> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await mkdir(dirname(archive), { recursive: true });
  await writeFile(archive, bytes);
  await writeFile(`${archive}.sha256`, record ?? `${sha256}\n`);
  return sha256;
}

/** Puts a manifest into a registry as the capsule `child`, unless another is named. */
export async function publishCapsule(root: string, manifest: string, publication: Publication = {}): Promise<string> {
  return await publish(root, await capsuleBytes(manifest), publication);
}
