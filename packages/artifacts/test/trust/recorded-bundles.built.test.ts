import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { decodePublicKey } from '../../src/manifest/trust-policy.ts';
import { BundleVerifier, type Verdict } from '../../src/store/trust/verify-bundles.ts';

interface Case {
  readonly name: string;
  readonly bundle: string;
  /** Base64; the common one when absent. */
  readonly artifact?: string;
  /** Which of the lists; that of the public instance when absent. */
  readonly root?: number;
  readonly key?: string;
}

interface Recorded {
  readonly artifact: string;
  readonly roots: readonly string[];
  readonly cases: readonly Case[];
}

/** Bundles of the conformance suite of Sigstore (sigstore/sigstore-conformance, Apache-2.0), made by other tools with the real services. */
const recorded = JSON.parse(
  readFileSync(new URL('fixtures/recorded-bundles.json', import.meta.url), 'utf8'),
) as Recorded;
const publicRoot = readFileSync(new URL('../../../../dist/trust/trusted_root.json', import.meta.url), 'utf8');

async function verdictOn({ bundle, artifact, root, key }: Case): Promise<Verdict | undefined> {
  const bytes = Buffer.from(artifact ?? recorded.artifact, 'base64');
  const text = root === undefined ? publicRoot : (recorded.roots[root] ?? '');
  const spki = key === undefined ? null : decodePublicKey(key);
  const keys = spki === null ? [] : [{ name: 'recorded', spki, fingerprint: sha256Hex(spki) }];
  const verifier = new BundleVerifier({ file: 'root.json', text, sha256: '' }, keys);
  const [verdict] = await verifier.verify(
    { sha256: sha256Hex(bytes), chunks: () => [bytes], bundles: [bundle] },
    () => true,
  );
  return verdict;
}

describe('a bundle that others have recorded', () => {
  it.each(recorded.cases.filter(({ name }) => !name.endsWith('_fail')))('holds: $name', async (each) => {
    expect(await verdictOn(each)).toMatchObject({ kind: 'valid' });
  });

  it.each(recorded.cases.filter(({ name }) => name.endsWith('_fail')))('fails: $name', async (each) => {
    const verdict = await verdictOn(each).catch((error: unknown) => {
      // Its list of authorities is what is wrong.
      if (error instanceof Diagnostic && error.code === 'E-REG-013') return { kind: 'refused' };
      throw error;
    });
    expect(verdict).toMatchObject({ kind: 'refused' });
  });
});
