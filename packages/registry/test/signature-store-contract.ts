import { beforeEach, describe, expect, it } from 'vitest';

import { sha256Hex } from '@svc/kit/sha256.ts';
import type { SignatureStore } from '../src/signature-store.ts';

export interface SignaturesUnderTest {
  /** Another opening of the same store, as in another process. */
  readonly store: () => Promise<SignatureStore>;
  /** Has everything in it look as old as this. */
  readonly age: (ms: number) => void;
}

const day = 24 * 60 * 60 * 1000;
const [one, other] = [sha256Hex('one'), sha256Hex('other')];

/** What every `SignatureStore` promises. `open` gives an empty one for each test. */
export function signatureStoreContract(name: string, open: () => Promise<SignaturesUnderTest>): void {
  describe(`the signatures of ${name}`, () => {
    let under: SignaturesUnderTest;
    let store: SignatureStore;

    beforeEach(async () => {
      under = await open();
      store = await under.store();
    });

    it('are none for an archive that nobody has signed', async () => {
      expect(await store.read(one)).toEqual([]);
      expect(await store.count(one)).toBe(0);
      await store.sweep(() => false);
    });

    it('are given back, byte for byte and each once, also to another opening', async () => {
      expect(await store.put(one, '{"ä":"1"}')).toBe('stored');
      expect(await store.put(one, '{"b":2}')).toBe('stored');
      expect(await store.put(one, '{"ä":"1"}')).toBe('present');
      expect(await store.put(other, '{"c":3}')).toBe('stored');
      for (const each of [store, await under.store()]) {
        expect([...(await each.read(one))].sort()).toEqual(['{"b":2}', '{"ä":"1"}']);
        expect(await each.read(other)).toEqual(['{"c":3}']);
        expect([await each.count(one), await each.count(other)]).toEqual([2, 1]);
      }
    });

    it('are 16 at most: another takes the place of the one that came, or came again, the longest ago', async () => {
      expect(await store.put(one, '{"n":0}')).toBe('stored');
      expect(await store.put(one, '{"n":1}')).toBe('stored');
      under.age(60_000);
      for (let n = 2; n < 16; n += 1) expect(await store.put(one, `{"n":${n}}`)).toBe('stored');
      expect(await store.put(one, '{"n":0}')).toBe('present');
      expect(await store.read(one)).toHaveLength(16);
      expect(await store.put(one, '{"n":16}')).toBe('stored');
      const left = [...(await store.read(one))].sort();
      expect(left).toEqual(
        Array.from({ length: 17 }, (_, n) => `{"n":${n}}`)
          .filter((each) => each !== '{"n":1}')
          .sort(),
      );
      expect(await store.count(one)).toBe(16);
      expect(await store.read(one)).toEqual(await store.read(one));
    });

    it('are swept after a day for which nothing was published, and not before', async () => {
      await store.put(one, '{"a":1}');
      await store.put(other, '{"b":2}');
      await store.sweep(() => false);
      expect(await store.read(one)).toHaveLength(1);
      under.age(day + 60_000);
      await store.sweep((sha256) => sha256 === other);
      expect(await store.read(one)).toEqual([]);
      expect(await store.read(other)).toEqual(['{"b":2}']);
      expect(await store.put(one, '{"a":1}')).toBe('stored');
    });

    it('are not swept where they were brought again since', async () => {
      await store.put(one, '{"a":1}');
      under.age(day + 60_000);
      expect(await store.put(one, '{"a":1}')).toBe('present');
      await store.sweep(() => false);
      expect(await store.read(one)).toEqual(['{"a":1}']);
    });

    it('take many writers of one bundle at once', async () => {
      const again = await under.store();
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? store : again).put(one, '{"a":1}')),
      );
      expect(outcomes).toContain('stored');
      expect(await store.read(one)).toEqual(['{"a":1}']);
    });
  });
}
