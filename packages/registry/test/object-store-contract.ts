import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import type { NewObject, ObjectStore, OpenedFile } from '../src/object-store.ts';
import type { StagingArea } from '../src/staging.ts';

export interface StoreUnderTest {
  /** Another opening of the same store, as in another process. */
  readonly store: () => Promise<ObjectStore>;
  readonly staging: StagingArea;
}

/** What every `ObjectStore` promises. `open` gives an empty one for each test. */
export function objectStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the object store of ${name}`, () => {
    let under: StoreUnderTest;
    let store: ObjectStore;

    beforeEach(async () => {
      under = await open();
      store = await under.store();
    });

    async function staged(content: Buffer | string, record = '{"a":1}'): Promise<NewObject> {
      const { staging } = under;
      const archive = await staging.receive(pieces(Buffer.from(content)));
      onTestFinished(async () => await staging.discard(archive));
      return { record, archive };
    }

    it('has nothing under a key that was not put', async () => {
      expect(await store.readRecord('a@1@1')).toBe(null);
      expect(await store.openArchive('a@1@1')).toBe(null);
      expect(await store.listKeys()).toEqual([]);
    });

    it('gives back record and archive, byte for byte, also to another opening', async () => {
      const content = randomBytes(700_000);
      expect(await store.put('a@1@1', await staged(content, '{"ä":"\\n"}\n'))).toBe('stored');
      const other = await under.store();
      for (const each of [store, other]) {
        expect(await each.readRecord('a@1@1')).toBe('{"ä":"\\n"}\n');
        expect((await bytesOf(await each.openArchive('a@1@1'))).equals(content)).toBe(true);
        expect(await each.listKeys()).toEqual(['a@1@1']);
      }
    });

    it('gives any part of an archive', async () => {
      const content = randomBytes(700_000);
      await store.put('a@1@1', await staged(content));
      for (const [first, last] of [
        [0, 0],
        [1, 300_000],
        [699_999, 699_999],
        [0, 699_999],
      ] as const) {
        const part = await bytesOf(await store.openArchive('a@1@1', { first, last }), last - first + 1);
        expect(part.equals(content.subarray(first, last + 1)), `${first}-${last}`).toBe(true);
      }
    });

    it('never replaces an object, and leaves what was staged for it to be put elsewhere', async () => {
      await store.put('a@1@1', await staged('one', '1'));
      const second = await staged('two', '2');
      expect(await store.put('a@1@1', second)).toBe('taken');
      expect(await store.put('a@1@1', second)).toBe('taken');
      expect(await store.put('a@1@2', { ...second, record: '3' })).toBe('stored');
      await under.staging.discard(second.archive);
      expect((await bytesOf(await store.openArchive('a@1@1'))).toString()).toBe('one');
      expect((await bytesOf(await store.openArchive('a@1@2'))).toString()).toBe('two');
      expect([await store.readRecord('a@1@1'), await store.readRecord('a@1@2')]).toEqual(['1', '3']);
    });

    it('tells one of many writers of a key that it has stored, whatever opening they write through', async () => {
      const other = await under.store();
      for (let round = 0; round < 20; round += 1) {
        const key = `race@1@${round + 1}`;
        const objects = await Promise.all(
          Array.from({ length: 8 }, (_, writer) => staged(`content ${writer}`, `record ${writer}`)),
        );
        const outcomes = await Promise.all(
          objects.map((object, writer) => (writer % 2 === 0 ? store : other).put(key, object)),
        );
        expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(1);
        expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(7);
        const winner = outcomes.indexOf('stored');
        expect(await store.readRecord(key)).toBe(`record ${winner}`);
        expect((await bytesOf(await store.openArchive(key))).toString()).toBe(`content ${winner}`);
        await Promise.all(objects.map(({ archive }) => under.staging.discard(archive)));
        expect(objects.filter(({ archive }) => existsSync(archive.directory))).toEqual([]);
      }
    });

    it('never shows a record without its archive', async () => {
      const object = await staged(randomBytes(200_000));
      const reader = await under.store();
      const putting = store.put('a@1@1', object);
      let record: string | null = null;
      while (record === null) {
        const keys = await reader.listKeys();
        record = await reader.readRecord('a@1@1');
        if (keys.length > 0) expect(record).toBe('{"a":1}');
      }
      expect(await bytesOf(await reader.openArchive('a@1@1'))).toHaveLength(200_000);
      expect(await putting).toBe('stored');
    });

    it('lists every key, more than fit on one page of any service', async () => {
      const keys = Array.from({ length: 1_100 }, (_, index) => `n${index}@1.0.0+x@1`);
      const next = keys.values();
      const writing = Array.from({ length: 16 }, async () => {
        for (const key of next) await store.put(key, await staged('x'));
      });
      await Promise.all(writing);
      expect([...(await store.listKeys())].sort()).toEqual([...keys].sort());
    });

    it('keeps states apart from objects, byte for byte, also for another opening', async () => {
      expect([await store.readState('a@1@1'), await store.listStateKeys()]).toEqual([null, []]);
      expect(await store.putState('a@1@1', '{"ä":"\\n"}\n')).toBe('stored');
      const other = await under.store();
      for (const each of [store, other]) {
        expect([await each.readState('a@1@1'), await each.listStateKeys()]).toEqual(['{"ä":"\\n"}\n', ['a@1@1']]);
        expect([await each.readRecord('a@1@1'), await each.listKeys()]).toEqual([null, []]);
      }
    });

    it('tells one of many writers of a state that it has stored, and never replaces one', async () => {
      const other = await under.store();
      for (let round = 1; round <= 10; round += 1) {
        const key = `race@1@${round}`;
        const outcomes = await Promise.all(
          Array.from({ length: 8 }, (_, writer) => (writer % 2 === 0 ? store : other).putState(key, `state ${writer}`)),
        );
        expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(1);
        expect(await store.readState(key)).toBe(`state ${outcomes.indexOf('stored')}`);
        expect(await store.putState(key, 'later')).toBe('taken');
      }
    });

    it('takes an archive of any size, an empty one too', async () => {
      await store.put('empty@1@1', await staged(''));
      expect(await bytesOf(await store.openArchive('empty@1@1'))).toHaveLength(0);
    });
  });
}

async function* pieces(content: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
}

/** `bytes` are read of a file, or all that it has. */
async function bytesOf(opened: Readable | OpenedFile | null, bytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  if (opened === null) throw new Error('there is no archive');
  const source =
    opened instanceof Readable
      ? opened
      : opened.file.createReadStream({ start: opened.start, end: opened.start + bytes - 1 });
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
