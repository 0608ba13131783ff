/** Publishes the capsules that the referee is asked about. */

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import { packArchive } from '@svc/artifacts/store/archive-writer.ts';
import { variantPaths } from '@svc/artifacts/store/store-layout.ts';

export const version = '1.0.0';
export const lead = 'lead';
export const worker = 'worker';

const capabilities = `
artifacts:
  - { name: editor, version: 1.0.0, capabilities: { state: { store: notes } } }
capabilities:
  network: { allow: [a.example, "https://b.example", "c.example:8080"] }
  shell: { allow: [git, python3] }
  env: { allow: [LANG, TZ] }
  filesystem: { scope: out }
  containment: scoped
`;

/** A capsule and one that it may spawn, in a registry of their own. */
export async function publishCapsules(root: string): Promise<void> {
  await publish(root, lead, `${capabilities}  spawn: { allow: [${worker}] }\n`);
  await publish(root, worker, capabilities);
}

async function publish(root: string, name: string, declared: string): Promise<void> {
  const manifest = `name: ${name}\nversion: ${version}\ninference: { transport: process, command: agent }\n${declared}`;
  const chunks: Uint8Array[] = [];
  for await (const chunk of packArchive([{ name: 'svc.yaml', data: Buffer.from(manifest) }])) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const { archive, hash } = variantPaths(root, { name, version }, null);
  await mkdir(dirname(archive), { recursive: true });
  await writeFile(archive, bytes);
  await writeFile(hash, `${createHash('sha256').update(bytes).digest('hex')}\n`);
}
