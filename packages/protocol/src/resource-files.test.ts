import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, count, hex, text } from '../test/both-ways.ts';
import { containmentClasses } from './containment-class.ts';
import {
  type ListedFile,
  decodeFileFacts,
  decodeListing,
  encodeExportRoot,
  encodeFileFacts,
  encodeHandleId,
  encodeListing,
} from './resource-files.ts';
import { encodeResourcePath, isSoundPath, parseResourcePath } from './resource-path.ts';

describe('files of a capsule', () => {
  it('have the path that they are asked for by', () => {
    expect(encodeResourcePath('a b/ä%')).toBe('a%20b/%C3%A4%25');
    const path = text.filter((each) => each.isWellFormed() && isSoundPath(each));
    bothWays(path, (each) => parseResourcePath(encodeResourcePath(each)));
  });

  it('appear in a list', async () => {
    const file: fc.Arbitrary<ListedFile> = fc.record({
      path: text,
      size_bytes: count,
      mtime_ms: count,
      sha256: hex(64),
    });
    const listing = fc.record({
      root: text,
      maxBytes: count,
      generation: count,
      containment: fc.constantFrom(...containmentClasses),
      files: fc.array(file),
    });
    await fc.assert(
      fc.asyncProperty(listing, async (told) => {
        const { root, maxBytes, generation, containment, files } = told;
        const head = {
          root,
          mode: 'read-only',
          max_bytes: maxBytes,
          generation,
          containment_achieved: containment,
        } as const;
        const each = async function* (): AsyncGenerator<ListedFile> {
          yield* files;
        };
        let document = '';
        for await (const piece of encodeListing(head, each())) document += piece;
        expect(decodeListing(JSON.parse(document))).toEqual(told);
      }),
    );
    const endless = { path: 'p', size_bytes: 1, mtime_ms: Infinity, sha256: 'a' };
    expect(decodeListing({ root: 'r', max_bytes: 1, generation: 0, entries: [endless] })).toBeNull();
    for (const odd of [null, {}, { root: 'r', max_bytes: 1, generation: 0, entries: [{}] }]) {
      expect(decodeListing(odd)).toBeNull();
    }
  });

  it('come with headers that say what they are', () => {
    const facts = fc.record({
      sha256: hex(64),
      mtimeMs: fc.nat(),
      generation: fc.nat(),
      containment: fc.constantFrom(...containmentClasses),
    });
    fc.assert(
      fc.property(
        facts,
        text.map((each) => each.toWellFormed()),
        hex(16),
        (told, exportRoot, handleId) => {
          const headers: Readonly<Record<string, string>> = {
            ...encodeFileFacts(told),
            ...encodeExportRoot(exportRoot),
            ...encodeHandleId(handleId),
          };
          expect(decodeFileFacts((name) => headers[name])).toEqual({ ...told, exportRoot, handleId });
        },
      ),
    );
    expect(encodeFileFacts({ sha256: 'h', mtimeMs: 1, generation: 2, containment: 'sealed' })).toEqual({
      etag: '"sha256:h"',
      'x-svc-mtime-ms': '1',
      'x-svc-generation': '2',
      'x-svc-containment': 'sealed',
    });
    expect(decodeFileFacts(() => undefined)).toBeNull();
  });
});
