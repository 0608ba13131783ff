import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { parseClauses } from '../../scripts/conformance-count.mjs';
import { choose, mayName, mutate, parseMutations, readMutations } from '../../scripts/mutation-list.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));

const entry = {
  clause: 'D9-ONE-01',
  breaks: 'It says no.',
  file: 'src/a.ts',
  old: 'return yes(\n  1,\n);',
  new: 'return no();',
};

type Made = typeof entry & { name: string; tests: readonly string[] };

function mutation(changes: Partial<Made> = {}): Made {
  return { ...entry, tests: [], name: changes.clause ?? entry.clause, ...changes };
}

describe('a mutation', () => {
  it('replaces the one place that reads as it says, however that is laid out', () => {
    expect(mutate('a();\nreturn  yes(1,\n);\nb();', mutation({ old: 'return yes(1, );' }))).toBe(
      'a();\nreturn no();\nb();',
    );
    expect(mutate('x = $a.b(c);', mutation({ old: '$a.b(c)', new: '$&' }))).toBe('x = $&;');
  });

  it('does not apply where its text is gone or there twice', () => {
    expect(mutate('return maybe();', mutation({ old: 'return yes();' }))).toBeNull();
    expect(mutate('return yes(); return yes();', mutation({ old: 'return yes();' }))).toBeNull();
  });

  it('has its whole id in the titles of its tests', () => {
    expect(mayName("it('a [D9-ONE-01, D9-ONE-02]'", 'D9-ONE-02')).toBe(true);
    expect(mayName("it('a [D9-ONE-011]'", 'D9-ONE-01')).toBe(false);
  });
});

describe('a file of mutations', () => {
  it('numbers those of one clause', () => {
    const text = JSON.stringify([entry, { ...entry, clause: 'D9-ONE-02' }, entry]);
    expect(parseMutations('D9-ONE.yaml', text).map(({ name }) => name)).toEqual([
      'D9-ONE-01',
      'D9-ONE-02',
      'D9-ONE-01.2',
    ]);
  });

  it('names those of no clause by their place, with the files of their tests', () => {
    const { clause: _, ...rest } = entry;
    const made = parseMutations('PLACE.yaml', JSON.stringify([{ ...rest, tests: ['a.test.ts'] }]));
    expect(made).toEqual([{ ...rest, name: 'PLACE-1', clause: '', tests: ['a.test.ts'] }]);
    expect(choose(made, { topics: ['PLACE'] })).toEqual(made);
    expect(choose(made, { topics: ['PLACE-1'] })).toEqual(made);
    expect(() => choose(made, { topics: ['PLAC'] })).toThrow('PLAC');
  });

  it.each([
    [JSON.stringify([{ ...entry, clause: undefined, tests: [] }]), 'entry 1: tests is not a list of files'],
    ['{}', 'is not a list'],
    [JSON.stringify([{ ...entry, why: 'x' }]), 'entry 1 lacks, or has too much: why'],
    [JSON.stringify([{ ...entry, new: undefined }]), 'entry 1 lacks, or has too much: new'],
    [JSON.stringify([entry, { ...entry, old: 1 }]), 'entry 2: old is not a text'],
    [JSON.stringify([{ ...entry, clause: 'D9-TWO-01' }]), 'entry 1: D9-TWO-01 is not of this topic'],
  ])('fails when it is %s', (text, message) => {
    expect(() => parseMutations('D9-ONE.yaml', text)).toThrow(message);
  });
});

describe('the choice', () => {
  const all = ['D1-ONE-01', 'D1-ONE-02', 'D1-ONEMORE-01', 'D2-ONE-01'].map((clause) => mutation({ clause }));
  const names = (topics: readonly string[]): string[] => choose(all, { topics }).map(({ name }) => name);

  it('covers everything, a topic of one document or of all, or a clause', () => {
    expect(names([])).toHaveLength(4);
    expect(names(['D1-ONE'])).toEqual(['D1-ONE-01', 'D1-ONE-02']);
    expect(names(['ONE'])).toEqual(['D1-ONE-01', 'D1-ONE-02', 'D2-ONE-01']);
    expect(names(['D1-ONE-02', 'D1-ONE-02'])).toEqual(['D1-ONE-02']);
    expect(() => names(['D3-ONE'])).toThrow('no mutation is called, or of a topic called, D3-ONE');
  });

  it('draws the same sample with the same seed, and another one with another', () => {
    const many = Array.from({ length: 50 }, (_, index) => mutation({ name: `m${index}` }));
    const drawn = (seed: string): string[] => choose(many, { topics: [], sample: 5, seed }).map(({ name }) => name);
    expect(drawn('a')).toHaveLength(5);
    expect(drawn('a')).toEqual(drawn('a'));
    expect(drawn('a')).not.toEqual(drawn('b'));
  });
});

describe('the mutations of this project', () => {
  const mutations = readMutations(`${root}test/mutations`);
  const clauses = parseClauses(readFileSync(`${root}docs/conformance/clauses.tsv`, 'utf8')).map(({ id }) => id);

  it('each break a clause of a document or have tests of their own, at a place that is still there', () => {
    const known = new Set(clauses);
    const faults: string[] = [];
    for (const each of mutations) {
      if (each.clause !== '' && !known.has(each.clause)) faults.push(`${each.name}: no such clause`);
      for (const test of each.tests)
        if (!existsSync(`${root}${test}`)) faults.push(`${each.name}: there is no ${test}`);
      const source = readFileSync(`${root}${each.file}`, 'utf8');
      const mutated = mutate(source, each);
      if (mutated === null || mutated === source) faults.push(`${each.name}: not applicable to ${each.file}`);
    }
    expect(faults).toEqual([]);
  });

  it('cover every topic of every document', () => {
    const topics = new Set(clauses.map((id) => id.replace(/-\d+$/, '')));
    const files = new Set(readdirSync(`${root}test/mutations`).map((file) => file.replace(/\.yaml$/, '')));
    expect([...topics].filter((topic) => !files.has(topic))).toEqual([]);
    expect(mutations.length).toBeGreaterThanOrEqual(150);
  });
});
