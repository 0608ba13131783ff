import { join, relative } from 'node:path';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { entryNameFault, NameTable } from './archive-entry.ts';

const component = fc.oneof(fc.constantFrom('..', '.', '', 'a', 'A', 'C:', 'a\\b', '\0', '…'), fc.string());
const anyName = fc.array(component, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));

describe('a name that may stand in an archive', () => {
  it('stays below the directory that it is unpacked to, and names one place only', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        if (entryNameFault(name) !== null) return;
        expect(relative('/out', join('/out', name))).toBe(name);
        expect(name.split('/')).not.toContain('..');
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the names of one archive', () => {
  it('all differ when they are taken, also where case and Unicode form do not count', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'A', 'a/b', 'A/b', 'é', 'e\u0301', 'b'), { maxLength: 8 }), (names) => {
        const table = new NameTable();
        const taken = names.filter((name) => table.add(name, 'file') === null);
        const folded = taken.map((name) => name.normalize('NFC').toLowerCase());
        expect(new Set(folded).size).toBe(taken.length);
        expect(folded.includes('a') && folded.includes('a/b')).toBe(false);
      }),
    );
  });
});
