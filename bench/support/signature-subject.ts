/** Signs archives and verifies them in this process. */

import { createPrivateKey, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { decodePublicKey } from '@svc/artifacts/manifest/trust-policy.ts';
import { generateKeys, signWithKey } from '@svc/artifacts/store/trust/key-pair.ts';
import { BundleVerifier } from '@svc/artifacts/store/trust/verify-bundles.ts';
import { packArchive } from '@svc/artifacts/store/archive-writer.ts';
import { MockAuthority } from '../../packages/artifacts/test/trust/mock-authority.ts';

export interface SignedFolder {
  readonly names: readonly string[];
  /** Returns the path of the archive of a name; its signature lies beside it. */
  readonly archive: (name: string) => string;
}

const identity = 'https://github.com/acme/tools/.github/workflows/release.yml@refs/tags/v1.0.0';
export const issuer = 'https://token.actions.githubusercontent.com';

/** Archives of 100 kB, each signed by a CI job, and in `root.json` the list that knows its authority. */
export async function signedFolder(folder: string, count: number): Promise<SignedFolder> {
  const authority = await MockAuthority.start();
  const names = Array.from({ length: count }, (_, index) => `signed-${index}`);
  const archive = (name: string): string => join(folder, `${name}-1.0.0.zip`);
  await mkdir(folder, { recursive: true });
  for (const name of names) {
    const files = [
      { name: 'svc.yaml', data: Buffer.from(`name: ${name}\nversion: 1.0.0\nruntime: skill\n`) },
      { name: 'skill.md', data: Buffer.from(randomBytes(50_000).toString('hex')) },
    ];
    const chunks: Uint8Array[] = [];
    for await (const chunk of packArchive(files)) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    await writeFile(archive(name), bytes);
    const bundle = await authority.statement({ sha256: sha256Hex(bytes), by: identity, at: issuer });
    await writeFile(`${archive(name)}.sigstore.jsonl`, `${JSON.stringify(bundle)}\n`);
  }
  await writeFile(join(folder, 'root.json'), JSON.stringify(authority.root));
  authority.stop();
  return { names, archive };
}

export interface SignedMegabyte {
  /** Milliseconds for the statement of a CI job about it, and for a signature of its bytes by a key, from the list of authorities on. */
  readonly verify: () => Promise<number>;
  /** Milliseconds for its hash, which every install takes. */
  readonly hash: () => number;
}

export async function signedMegabyte(): Promise<SignedMegabyte> {
  const bytes = randomBytes(1_000_000);
  const sha256 = sha256Hex(bytes);
  const authority = await MockAuthority.start();
  const statement = JSON.stringify(await authority.statement({ sha256 }));
  authority.stop();
  const pair = generateKeys(null);
  const byKey = await signWithKey([bytes], sha256, createPrivateKey(pair.privatePem));
  const spki = decodePublicKey(pair.publicPem);
  const keys = spki === null ? [] : [{ name: 'bench', spki, fingerprint: pair.fingerprint }];
  const text = JSON.stringify(authority.root);
  return {
    verify: async () => {
      const startedMs = performance.now();
      const verifier = new BundleVerifier({ file: 'root.json', text, sha256: '' }, keys);
      const archive = { sha256, chunks: () => [bytes], bundles: [statement, byKey] };
      const verdicts = await verifier.verify(archive, () => false);
      const tookMs = performance.now() - startedMs;
      if (verdicts.some(({ kind }) => kind !== 'valid')) throw new Error('a signature does not hold');
      return tookMs;
    },
    hash: () => {
      const startedMs = performance.now();
      sha256Hex(bytes);
      return performance.now() - startedMs;
    },
  };
}
