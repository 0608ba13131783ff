import { describe, expect, it } from 'vitest';

import {
  countTopics,
  namedIds,
  parseClauses,
  renderTopics,
  reportRetries,
  skipReason,
  unknownClauses,
} from '../../scripts/conformance-count.mjs';
import type { TestRecord } from '../../scripts/conformance-count.mjs';

const clauses = [
  { id: 'D9-ONE-01', text: 'one' },
  { id: 'D9-ONE-02', text: 'two' },
  { id: 'D9-OTHER-01', text: 'three' },
];

function passed(title: string): TestRecord {
  return { file: 'a.test.ts', title, outcome: 'passed' };
}

describe('parseClauses', () => {
  it('reads id and text by the names of the columns', () => {
    expect(parseClauses('id\tdocument\tclause\nD9-ONE-01\tdocument-1\tone\n\n')).toEqual([
      { id: 'D9-ONE-01', text: 'one' },
    ]);
  });

  it('refuses a list without the columns it needs', () => {
    expect(() => parseClauses('number\ttext\n1\tone\n')).toThrow('no "id" or no "clause" column');
  });
});

describe('namedIds', () => {
  it('finds one id, several in one bracket, and several brackets', () => {
    expect(namedIds('answers [D9-ONE-01]')).toEqual(['D9-ONE-01']);
    expect(namedIds('answers [D9-ONE-01,D9-ONE-02] and stops [D9-OTHER-01]')).toEqual([
      'D9-ONE-01',
      'D9-ONE-02',
      'D9-OTHER-01',
    ]);
  });

  it('leaves brackets alone that are no list of clauses', () => {
    expect(namedIds('reads argv[0] and an empty list []')).toEqual([]);
  });

  it('keeps a mistyped id, so that it can be refused', () => {
    expect(namedIds('answers [d9-one-01] and [D9-ONE-1, D9-ONE]')).toEqual(['d9-one-01', 'D9-ONE-1', 'D9-ONE']);
  });
});

describe('unknownClauses', () => {
  it('names an id that no document has, also when its test was skipped', () => {
    const title = 'answers [D9-ONE-99]';
    const tests: TestRecord[] = [{ file: 'b.test.ts', title, outcome: 'skipped', note: 'needs Linux' }];
    expect(unknownClauses(clauses, tests)).toEqual([{ id: 'D9-ONE-99', file: 'b.test.ts', title }]);
  });

  it('accepts every id of the list', () => {
    expect(unknownClauses(clauses, [passed('answers [D9-ONE-01, D9-OTHER-01]')])).toEqual([]);
  });
});

describe('skipReason', () => {
  const skipped = { file: 'a.test.ts', outcome: 'skipped' } as const;

  it('gives the reason of the test, else the one in its title', () => {
    expect(skipReason({ ...skipped, title: 'reads', note: 'needs Linux' })).toBe('needs Linux');
    expect(skipReason({ ...skipped, title: 'reads (skipped without python3)' })).toBe('without python3');
    expect(skipReason({ ...skipped, title: 'reads (skipped: needs go) > all' })).toBe('needs go');
  });

  it('gives nothing where neither says why', () => {
    expect(skipReason({ ...skipped, title: 'reads' })).toBeUndefined();
  });
});

describe('countTopics', () => {
  it('counts a clause once however many tests show it, and none that failed or was skipped', () => {
    const tests: TestRecord[] = [
      passed('first [D9-ONE-01]'),
      passed('second [D9-ONE-01]'),
      { file: 'a.test.ts', title: 'third [D9-ONE-02]', outcome: 'failed' },
      { file: 'a.test.ts', title: 'fourth [D9-OTHER-01]', outcome: 'skipped', note: 'needs Linux' },
    ];
    expect(countTopics(clauses, tests)).toEqual([
      { topic: 'D9-ONE', clauses: 2, shown: 1, missing: [{ id: 'D9-ONE-02', text: 'two' }] },
      { topic: 'D9-OTHER', clauses: 1, shown: 0, missing: [{ id: 'D9-OTHER-01', text: 'three' }] },
    ]);
  });
});

describe('renderTopics', () => {
  const topics = countTopics(clauses, [passed('first [D9-ONE-01]')]);

  it('writes one line a topic with the numbers of what is missing, and the sum', () => {
    expect(renderTopics(topics, { texts: false })).toBe(
      [
        'D9-ONE       1 of   2   without a test: 02',
        'D9-OTHER     0 of   1   without a test: all',
        'clauses      1 of   3',
      ].join('\n'),
    );
  });

  it('writes the missing clauses in full when asked', () => {
    expect(renderTopics(topics, { texts: true })).toBe(
      [
        'D9-ONE       1 of   2',
        '    D9-ONE-02  two',
        'D9-OTHER     0 of   1',
        '    D9-OTHER-01  three',
        'clauses      1 of   3',
      ].join('\n'),
    );
  });
});

describe('reportRetries', () => {
  const late = (title: string): TestRecord => ({ ...passed(title), firstFailure: 'timed out' });

  it('lists each test that needed a second try, with its first failure', () => {
    expect(reportRetries([passed('a'), late('b')])).toEqual({
      lines: ['second try: a.test.ts: b\n  first failure: timed out'],
      fault: null,
    });
  });

  it('reports a fault when more than three tests needed one', () => {
    expect(reportRetries(['a', 'b', 'c'].map(late)).fault).toBeNull();
    expect(reportRetries(['a', 'b', 'c', 'd'].map(late)).fault).toBe('4 tests needed a second try, at most 3 may');
  });
});
