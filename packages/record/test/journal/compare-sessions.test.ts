import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { Message } from '@svc/session/model/driver.ts';
import { cacheSteps } from '../../src/journal/cache-misses.ts';
import { type Divergence, divergenceOf } from '../../src/journal/compare-sessions.ts';
import { firstDifference } from '../../src/journal/json-difference.ts';
import type { Damage } from '../../src/journal/journal-scan.ts';
import { JournalReader } from '../../src/journal/journal-reader.ts';
import { encodeLine, firstChain } from '../../src/journal/record-line.ts';
import { RecordedSession, type RecordedOptions } from './recorded-session.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let root = '';

eachFolder('svc-compare-', (made) => {
  root = made;
});

let sessions = 0;

type Play = (session: RecordedSession) => RecordedSession;

function recorded(play: Play, options: RecordedOptions = {}): JournalReader {
  sessions += 1;
  const session = play(new RecordedSession(root, { session: String(sessions), ...options }));
  session.journal.close();
  return openIn(session.folder);
}

function openIn(folder: string): JournalReader {
  const directory = HeldDirectory.at(folder);
  const reader = JournalReader.open(directory, null);
  if (reader === null) throw new Error('there is no journal');
  return reader;
}

function refuse({ why }: Damage): never {
  throw new Error(why);
}

/** No session here has hooks that get events. */
const neverAlike = (): boolean => false;

function parting(a: JournalReader, b: JournalReader): Divergence | null {
  return divergenceOf(
    () => a.skim(refuse),
    () => b.skim(refuse),
    neverAlike,
  );
}

const usual: Play = (session) =>
  session
    .task('Do the tests pass?')
    .model('I run them.', ['sh'])
    .shell('npm test', '2 tests failed', 1)
    .model('I look.', ['sh'])
    .shell('cat a.ts', 'a')
    .model('No.')
    .taskEnd('No.');

describe('the point where two sessions differ', () => {
  it('does not exist when only ids and times differ', () => {
    const other: Play = (session) => {
      session.clock.advance(1_000_000);
      session.journal.append({ k: 'in', what: 'stop' });
      return usual(session);
    };
    expect(parting(recorded(usual), recorded(other))).toBeNull();
  });

  it('can be the first message that differs, with the step that sent it', () => {
    const other: Play = (session) =>
      session
        .task('Do the tests pass?')
        .model('I run them.', ['sh'])
        .shell('npm test', '1 test failed', 1)
        .model('I look.');
    const found = parting(recorded(usual), recorded(other));
    expect(found).toMatchObject({ kind: 'request', a: 3, b: 3, isFixedSame: true, same: 2 });
  });

  it('can be the part that comes with each request', () => {
    const found = parting(recorded(usual), recorded(usual, { system: 'You are grumpy.' }));
    expect(found).toMatchObject({ kind: 'request', a: 1, isFixedSame: false, same: 1 });
  });

  it('can be the text of a task, its end, an input, an answer, or a missing step', () => {
    const task: Play = (session) => session.task('Do they?').model('Yes.');
    expect(parting(recorded(usual), recorded(task))).toMatchObject({ kind: 'task', index: 0 });
    const input: Play = (session) => session.task('Do the tests pass?').model('I run them.', ['sh']).shell('make', '');
    expect(parting(recorded(usual), recorded(input))).toMatchObject({ kind: 'input', a: 2, b: 2 });
    const answer: Play = (session) => session.task('Why?').model('Because.');
    const end: Play = (session) => answer(session).taskEnd('Because.');
    const other: Play = (session) => session.task('Why?').model('So.');
    expect(parting(recorded(answer), recorded(other))).toMatchObject({ kind: 'answer', a: 1 });
    expect(parting(recorded(answer), recorded(end))).toEqual({
      kind: 'end',
      index: 0,
      a: null,
      b: 'completed',
    });
    const longer: Play = (session) => answer(session).task('And?');
    expect(parting(recorded(answer), recorded(longer))).toMatchObject({ kind: 'task', index: 1, a: null });
    const stopped: Play = (session) => session.task('Do the tests pass?').model('I run them.', ['sh']);
    expect(parting(recorded(usual), recorded(stopped))).toMatchObject({ kind: 'missing', in: 'b', step: 2 });
    expect(parting(recorded(stopped), recorded(usual))).toMatchObject({ kind: 'missing', in: 'a', step: 2 });
  });

  it('does not depend on the order of what ran at the same time', () => {
    const parallel =
      (order: readonly number[]): Play =>
      (session) => {
        session.task('Both').model('Go.', ['sh', 'sh']);
        for (const call of order) {
          const e = `tsk_00000000000000000000000000000001/1/m1/t${call}`;
          session.journal.append({ k: 'start', e, port: 'shell', name: 'sh', in: session.json({ call }) });
        }
        return session;
      };
    expect(parting(recorded(parallel([1, 2])), recorded(parallel([2, 1])))).toBeNull();
  });
});

describe('why a cache could not hold', () => {
  const misses = (play: Play): readonly unknown[] => {
    const reader = recorded(play);
    return [...cacheSteps(reader.skim(refuse))].map(({ request, before, same, misses: why }) => ({
      step: [before.step, request.step],
      same,
      why,
    }));
  };
  const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });

  it('does not exist for a request that only goes on', () => {
    expect(misses(usual)).toEqual([
      { step: [1, 3], same: 1, why: [] },
      { step: [3, 5], same: 3, why: [] },
    ]);
  });

  it('can be another fixed part, or more than five minutes', () => {
    const other: Play = (session) => session.task('Why?').model('a').model('b', [], { system: 'Other.' });
    expect(misses(other)).toEqual([{ step: [1, 2], same: 1, why: [{ kind: 'fixed' }] }]);
    const late: Play = (session) => {
      session.task('Why?').model('a');
      session.clock.advance(300_000);
      session.model('b');
      session.clock.advance(300_001);
      return session.model('c');
    };
    expect(misses(late)).toEqual([
      { step: [1, 2], same: 1, why: [] },
      { step: [2, 3], same: 2, why: [{ kind: 'pause', ms: 300_001 }] },
    ]);
  });

  it('can be a compaction, or a message that changed', () => {
    const changed: Play = (session) =>
      session
        .task('Why?')
        .model('a')
        .model('b')
        .compacted([user('Why?'), user('Instead')])
        .model('c');
    expect(misses(changed)).toEqual([
      { step: [1, 2], same: 1, why: [] },
      { step: [2, 3], same: 1, why: [{ kind: 'message', index: 1 }] },
    ]);
    const compacted: Play = (session) => {
      session.task('Why?').model('a').model('b');
      const e = 'tsk_00000000000000000000000000000001/1/h-on-compaction-1/svc-hook-compact';
      session.journal.append({ k: 'start', e, port: 'hook', name: 'svc-hook-compact', in: session.json({}) });
      return session
        .compacted([user('In short')])
        .model('c')
        .model('d');
    };
    expect(misses(compacted)).toEqual([
      { step: [1, 2], same: 1, why: [] },
      { step: [2, 4], same: 0, why: [{ kind: 'compaction' }] },
      { step: [4, 5], same: 1, why: [] },
    ]);
  });

  it('does not exist for the first request of a new conversation, and can for one that goes on', () => {
    const two: Play = (session) => session.task('One').model('a').task('Two').model('b').task('Three', true).model('c');
    expect(misses(two)).toEqual([{ step: [2, 3], same: 1, why: [] }]);
  });
});

describe('firstDifference', () => {
  it.each([
    ['{"a":[1,{"b":"xy"}]}', '{"a":[1,{"b":"xz"}]}', { path: '/a/1/b', byte: 1, a: 'xy', b: 'xz' }],
    ['{"a":"é1"}', '{"a":"é2"}', { path: '/a', byte: 2, a: 'é1', b: 'é2' }],
    ['{"a":1}', '{"a":1,"b/~":[2]}', { path: '/b~1~0', byte: null, a: null, b: '[2]' }],
    ['[1,2]', '[1]', { path: '/1', byte: null, a: '2', b: null }],
    ['{"a":{}}', '{"a":[]}', { path: '/a', byte: null, a: '{}', b: '[]' }],
    ['no JSON', 'nor this', { path: '', byte: 2, a: 'no JSON', b: 'nor this' }],
    ['null', '0', { path: '', byte: null, a: 'null', b: '0' }],
  ])('compares %s and %s', (a, b, difference) => {
    expect(firstDifference(a, b)).toEqual(difference);
    expect(firstDifference(a, a)).toBeNull();
  });
});

describe('a journal whose records spell their keys in another order', () => {
  /** The same records with their keys from last to first, except for the first two and the last. */
  function reordered(reader: JournalReader): JournalReader {
    const folder = join(root, `reordered-${sessions}`);
    mkdirSync(folder);
    let chain = firstChain;
    const lines = [...reader.scan().records()].map(({ record: { n, k, c: _c, ...rest } }) => {
      const encoded = encodeLine(n, { k, ...Object.fromEntries(Object.entries(rest).toReversed()) }, chain);
      ({ chain } = encoded);
      return encoded.line;
    });
    writeFileSync(join(folder, 'journal.jsonl'), lines.join(''));
    return openIn(folder);
  }

  it('compares as the same everywhere', () => {
    const odd: Play = (session) => {
      usual(session);
      const e = 'tsk_00000000000000000000000000000001/1/m2/t1/s\u00e9"\\.1';
      session.journal.append({ k: 'start', e, port: 'tool', name: 'quo"ted', in: session.json({ in: '","in":"' }) });
      session.journal.append({ k: 'end', e, ms: 1, value: session.json({ value: '"value":null' }), error: true });
      return session;
    };
    const a = recorded(odd);
    const b = reordered(a);
    expect(parting(a, b)).toBeNull();
    expect([...cacheSteps(b.skim(refuse))].map(({ same }) => same)).toEqual([1, 3]);
    const other = reordered(recorded(usual));
    expect(parting(a, other)).toMatchObject({ kind: 'missing', in: 'b', step: 6 });
    expect(parting(other, b)).toMatchObject({ kind: 'missing', in: 'a', step: 6 });
  });
});

describe('a damaged journal that is compared', () => {
  it.each([
    ['another number', (line: string) => line.replace(/^\{"n":\d+/, '{"n":7'), 'has another number'],
    ['no head', () => '{}', 'does not begin and end as a record does'],
    ['no end', (line: string) => line.slice(0, -1), 'does not begin and end as a record does'],
    ['an unknown kind', (line: string) => line.replace('"start"', '"starts"'), 'is of the unknown kind starts'],
    [
      'a key too few',
      (line: string) => line.replace('"e":', '"x":'),
      'lacks what a record start has, or has it wrong: e',
    ],
  ])('counts up to a line with %s', (_, damage, why) => {
    const { folder } = usual(new RecordedSession(root, { session: 'ffff' }));
    const path = join(folder, 'journal.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n');
    const at = lines.findLastIndex((line) => line.includes('"k":"start"'));
    writeFileSync(path, lines.map((line, index) => (index === at ? damage(line) : line)).join('\n'));
    const told: Damage[] = [];
    const steps = [...openIn(folder).skim((found) => void told.push(found))].filter(({ k }) => k === 'start');
    expect(steps).toHaveLength(4);
    expect(told).toEqual([{ record: at, byte: Buffer.byteLength(`${lines.slice(0, at).join('\n')}\n`), why }]);
  });
});

describe('two long sessions', () => {
  it('compare without a look into the files of their texts', () => {
    const play: Play = (session) => {
      session.task('A long one');
      for (let turn = 0; turn < 20; turn += 1)
        session.model(`${turn}`, ['sh']).shell('ls', `${turn} ${'x'.repeat(70_000)}`);
      return session;
    };
    const [a, b] = [recorded(play), recorded(play)];
    expect(parting(a, b)).toBeNull();
    // Once for the first line.
    expect(a.bytesRead).toBe(2 * a.size);
    expect(a.size).toBeLessThan(100_000);
  });
});
