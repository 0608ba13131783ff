import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

import { encodeIndex } from '@svc/protocol/registry-messages.ts';
import { ArtifactIndex } from '../src/artifact-index.ts';
import { type ArtifactRecord, ArtifactRecords, encodeRecord } from '../src/artifact-records.ts';
import { FileStore } from '../src/file-store.ts';
import { objectKey, logName } from '../src/log-keys.ts';
import { everyName } from '../src/name-patterns.ts';
import { SignatureCounts } from '../src/signature-counts.ts';
import { VersionStates } from '../src/version-states.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';

/** An index over a folder, and the parts that it is made of. */
async function openIndex(data: string): Promise<{
  readonly index: ArtifactIndex;
  readonly records: ArtifactRecords;
  readonly states: VersionStates;
}> {
  const store = await FileStore.open(data);
  const [records, states] = [new ArtifactRecords(store), new VersionStates(store)];
  const onDamaged = (error: Error): never => {
    throw error;
  };
  const signatures = new SignatureCounts({ store: store.signatures, onFault: onDamaged });
  return { records, states, index: new ArtifactIndex({ records, states, signatures, onDamaged }) };
}

const recordOf = (part: Pick<ArtifactRecord, 'name' | 'version'> & Partial<ArtifactRecord>): ArtifactRecord => ({
  runtime: 'native',
  artifact_runtime: 'tool',
  platforms: [],
  sha256: '0'.repeat(64),
  bytes: 1,
  description: null,
  tags: [],
  published_at: null,
  published_by: null,
  ...part,
});

/** Writes what another server of this folder would have published; nobody asks for its archive. */
function store(data: string, record: ArtifactRecord, number: number): void {
  const directory = join(data, 'objects', objectKey(logName(record), number));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'record.json'), encodeRecord(record));
}

const step = fc.record({
  name: fc.constantFrom('a', 'b'),
  version: fc.constantFrom('1.0.0', '1.0.1', '1.0.1-RC', '1.0.1-rc', '2.0.0'),
  description: fc.option(fc.string({ unit: 'grapheme', maxLength: 300 })),
  tags: fc.array(fc.string({ maxLength: 5 }), { maxLength: 3 }),
  platforms: fc.subarray(['linux-x86_64', 'darwin-aarch64'] as const),
  change: fc.option(fc.constantFrom('deprecated', 'yanked', 'active'), { freq: 3 }),
});

describe('the size of a name in the index', () => {
  it('follows the index to the byte, whatever was published and changed before', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const data = temporaryDirectory();
        const { index, records, states } = await openIndex(data);
        const numbers = new Map<string, number>();
        for (const { change, ...part } of steps) {
          const record = recordOf(part);
          if (change !== null) await states.change(record, { state: change, reason: null }, null);
          const expected = index.bytesWith(record);
          const number = (numbers.get(logName(record)) ?? 0) + 1;
          numbers.set(logName(record), number);
          store(data, record, number);
          await records.read(record);
          const objects = (await index.artifacts(everyName)).get(record.name) ?? [];
          expect(Buffer.byteLength(encodeIndex(objects))).toBe(expected);
        }
        // A server that opens the folder now has read all of it at once.
        const again = await openIndex(data);
        const next = recordOf({ name: 'a', version: '3.0.0' });
        await again.index.artifacts(everyName);
        expect(again.index.bytesWith(next)).toBe(index.bytesWith(next));
      }),
      { numRuns: 40 },
    );
  });

  it('takes as much work with 400 versions as with 4', async () => {
    const data = temporaryDirectory();
    const { index, records } = await openIndex(data);
    const looked = vi.spyOn(records, 'known');
    const all = vi.spyOn(records, 'all');
    const work = new Set<number>();
    for (let patch = 0; patch < 400; patch += 1) {
      const record = recordOf({ name: 'a', version: `1.0.${patch}` });
      looked.mockClear();
      index.bytesWith(record);
      if (patch > 3) work.add(looked.mock.calls.length);
      store(data, record, 1);
      await records.read(record);
    }
    expect([work.size, all.mock.calls.length]).toEqual([1, 0]);
  });
});
