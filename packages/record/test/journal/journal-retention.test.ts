import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import { holdJournal } from '../../src/sessions/journal-holder.ts';
import { retainJournals, type Retained } from '../../src/sessions/journal-retention.ts';
import { isLookDue, type KeptJournals } from '../../src/sessions/last-look.ts';
import { writeRunningRecord } from '../../src/sessions/running-record.ts';
import { liveRecord } from '../../../../test/support/running-record.ts';
import { RecordedSession, sessionId } from './recorded-session.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let root: string;

eachFolder('svc-retention-', (made) => {
  root = made;
});

const day = 86_400_000;
const longText = 'x'.repeat(70_000);

/** A session that ended some days ago, with one text in a file of its own. */
function ended(digits: string, daysAgo: number, place = root): string {
  const session = new RecordedSession(place, { session: digits });
  session.task(`${digits}${longText}`).model('Done.').taskEnd().close();
  writeFileSync(join(session.folder, 'trace.jsonl'), '{}\n');
  aged(session.folder, daysAgo);
  return session.folder;
}

function aged(folder: string, daysAgo: number, file = 'journal.jsonl'): void {
  const at = (Date.now() - daysAgo * day) / 1000;
  utimesSync(join(folder, file), at, at);
}

function bytesOf(folder: string): number {
  const bodies = readdirSync(join(folder, 'bodies')).map((name) => join(folder, 'bodies', name));
  return [join(folder, 'journal.jsonl'), ...bodies].reduce((sum, path) => sum + statSync(path).size, 0);
}

async function retain(keep: Partial<KeptJournals>, signal = new AbortController().signal): Promise<Retained> {
  const all = { ...plenty, ...keep };
  return await retainJournals({ root, home: join(root, 'home'), keep: all, clock: systemClock, signal });
}

const plenty: KeptJournals = { sessions: 1000, age: 1e9, bytes: 1e15 };

const hasJournal = (folder: string): boolean => existsSync(join(folder, 'journal.jsonl'));

const whatIsLeft = ['journal.removed', 'trace.jsonl'];

describe('the journals of a workspace', () => {
  it('stay up to a number of sessions, the oldest go first', async () => {
    const [oldest, older, newest] = [ended('1', 3), ended('2', 2), ended('3', 1)];
    expect(await retain({ sessions: 2 })).toEqual({ removed: 1, bytes: bytesOf(newest), left: 0 });
    expect([oldest, older, newest].map(hasJournal)).toEqual([false, true, true]);
    expect(readdirSync(oldest).toSorted()).toEqual(whatIsLeft);
    expect(statSync(join(oldest, 'journal.removed')).size).toBe(0);
    expect(await retain({ sessions: 2 })).toEqual({ removed: 0, bytes: 0, left: 0 });
  });

  it('stay up to an age', async () => {
    const [old, young] = [ended('1', 31), ended('2', 29)];
    expect(await retain({ age: 30 * 86_400 })).toMatchObject({ removed: 1, left: 0 });
    expect([old, young].map(hasJournal)).toEqual([false, true]);
  });

  it('stay up to a number of bytes, bodies included, and none that is older than one beyond it', async () => {
    const oldest = new RecordedSession(root, { session: '1' }).close().folder;
    aged(oldest, 9);
    const [older, newest] = [ended('2', 2), ended('3', 1)];
    expect(await retain({ bytes: 2 * bytesOf(newest) - 1 })).toMatchObject({ removed: 2 });
    expect([oldest, older, newest].map(hasJournal)).toEqual([false, false, true]);
  });

  it('stay while their session runs, in whatever home, and count', async () => {
    const [here, elsewhere, listed, free] = [ended('1', 9), ended('2', 8), ended('3', 7), ended('4', 6)];
    const release = holdJournal(here, systemClock);
    const holder = { pid: 1, process_start: '1', boot: 'another machine', pid_space: 'pid:[1]' };
    writeFileSync(join(elsewhere, 'journal.holder'), JSON.stringify(holder));
    const forget = writeRunningRecord(join(root, 'home'), liveRecord({ session_id: sessionId('3') }));
    expect(await retain({ sessions: 1 })).toMatchObject({ removed: 1, left: 0 });
    expect([here, elsewhere, listed, free].map(hasJournal)).toEqual([true, true, true, false]);

    release();
    forget();
    aged(elsewhere, 1.1, 'journal.holder');
    expect(await retain({ sessions: 1 })).toMatchObject({ removed: 2 });
    expect([here, elsewhere, listed].map(hasJournal)).toEqual([false, false, true]);
    expect(existsSync(join(elsewhere, 'journal.holder'))).toBe(false);
  });

  it('go after a kill as those of a session that ended', async () => {
    const crashed = ended('1', 2);
    const release = holdJournal(crashed, systemClock);
    const holder = JSON.parse(readFileSync(join(crashed, 'journal.holder'), 'utf8')) as { process_start: string };
    release();
    // The number of a process that lives, given to it after the one that wrote the journal had ended.
    writeFileSync(join(crashed, 'journal.holder'), JSON.stringify({ ...holder, process_start: '7' }));
    expect(await retain({ age: 86_400 })).toMatchObject({ removed: 1 });
    expect(hasJournal(crashed)).toBe(false);
  });

  it('stay for a day beside a holder that a full disk cut off', async () => {
    const torn = ended('1', 9);
    writeFileSync(join(torn, 'journal.holder'), '{"pid":');
    expect(await retain({ age: 1 })).toMatchObject({ removed: 0 });
    aged(torn, 2, 'journal.holder');
    expect(await retain({ age: 1 })).toMatchObject({ removed: 1 });
  });

  it('have no holder when their session found the disk full', (context) => {
    context.skip(process.getuid?.() !== 0, 'only root can mount a small disk');
    const small = join(root, 'small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', small]);
    try {
      writeFileSync(join(small, 'filler'), 'x'.repeat(4096));
      expect(() => holdJournal(small, systemClock)).toThrow('ENOSPC');
      expect(readdirSync(small)).toEqual(['filler']);
    } finally {
      execFileSync('umount', [small]);
    }
  });

  it('go with those of the sessions that a session delegated to, unless one of these runs', async () => {
    const parent = ended('1', 9);
    const child = ended('2', 9, join(parent, 'children', 'helper-0123456789abcdef'));
    const grandchild = ended('3', 9, join(child, 'children', 'helper-0123456789abcdef'));
    const release = holdJournal(grandchild, systemClock);
    expect(await retain({ age: 86_400 })).toMatchObject({ removed: 0 });
    expect([parent, child, grandchild].map(hasJournal)).toEqual([true, true, true]);
    release();
    expect(await retain({ age: 86_400 })).toMatchObject({ removed: 1 });
    expect([parent, child, grandchild].map(hasJournal)).toEqual([false, false, false]);
    expect(readdirSync(grandchild).toSorted()).toEqual(whatIsLeft);
  });

  it('stay once the run has to stop', async () => {
    const old = ended('1', 9);
    const stop = new AbortController();
    stop.abort();
    expect(await retain({ age: 1 }, stop.signal)).toEqual({ removed: 0, bytes: 0, left: 0 });
    expect(hasJournal(old)).toBe(true);
  });
});

describe('a session that ends at once', () => {
  const hourMs = 3_600_000;
  const isDue = (keep: Partial<KeptJournals>, laterMs = 0): boolean =>
    isLookDue(root, { ...plenty, ...keep }, { now: () => Date.now() + laterMs });
  const noteFile = (): string => join(root, '.svc', 'last-look.json');

  it('does not look in a workspace with one session, or with none', () => {
    expect(isDue({ sessions: 1 })).toBe(false);
    ended('1', 9);
    expect(isDue({ sessions: 1 })).toBe(false);
  });

  it('looks for journals to remove where nobody has, and an hour after the last look', async () => {
    for (const digits of ['1', '2', '3']) ended(digits, 1);
    expect(isDue({ sessions: 50 })).toBe(true);
    await retain({ sessions: 50 });
    expect(isDue({ sessions: 50 })).toBe(false);
    expect(isDue({ sessions: 50 }, hourMs - 60_000)).toBe(false);
    expect(isDue({ sessions: 50 }, hourMs + 60_000)).toBe(true);
    // The clock was set back.
    expect(isDue({ sessions: 50 }, -60_000)).toBe(true);
  });

  it.each([
    { kept: 2, atOnce: 0 },
    { kept: 9, atOnce: 0 },
    { kept: 20, atOnce: 2 },
    { kept: 50, atOnce: 5 },
  ])('looks when more than $atOnce journals can be there beyond the $kept that are kept', async ({ kept, atOnce }) => {
    for (let index = 1; index <= kept + 3; index += 1) ended(String(index), 1);
    expect(await retain({ sessions: kept })).toMatchObject({ removed: 3 });
    for (let more = 1; more <= atOnce; more += 1) {
      ended(String(1000 + more), 0);
      expect(isDue({ sessions: kept })).toBe(false);
    }
    ended('2000', 0);
    expect(isDue({ sessions: kept })).toBe(true);
    expect(await retain({ sessions: kept })).toMatchObject({ removed: atOnce + 1 });
    expect(isDue({ sessions: kept })).toBe(false);
  });

  it('looks for a manifest that keeps something else, and when sessions have gone', async () => {
    const folders = ['1', '2', '3'].map((digits) => ended(digits, 1));
    await retain({ sessions: 50 });
    expect([{ sessions: 2 }, { sessions: 50, age: 60 }, { sessions: 50, bytes: 1 }].map((keep) => isDue(keep))).toEqual(
      [true, true, true],
    );
    rmSync(folders[0] ?? '', { recursive: true });
    expect(isDue({ sessions: 50 })).toBe(true);
  });

  it.each(['', '{"at":', '[]', 'null', '{"at":"now"}', `{"at":${Date.now()},"names":9,"journals":1}`])(
    'looks beside a note that is %j',
    async (text) => {
      for (const digits of ['1', '2']) ended(digits, 1);
      await retain({});
      expect(isDue({})).toBe(false);
      writeFileSync(noteFile(), text);
      expect(isDue({})).toBe(true);
    },
  );

  it('looks as long as the note cannot be written', async () => {
    for (const digits of ['1', '2', '3']) ended(digits, 1);
    mkdirSync(noteFile());
    expect(await retain({ sessions: 2 })).toMatchObject({ removed: 1, left: 0 });
    expect(isDue({ sessions: 2 })).toBe(true);
    expect(readdirSync(join(root, '.svc')).toSorted()).toEqual(['last-look.json', 'sessions']);
  });

  it('looks again when the last look was broken off', async () => {
    for (const digits of ['1', '2', '3']) ended(digits, 1);
    const stop = new AbortController();
    stop.abort();
    await retain({ sessions: 2 }, stop.signal);
    expect(isDue({ sessions: 2 })).toBe(true);
  });
});

describe('a removal of journals', () => {
  it('follows no link, wherever it stands', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'svc-elsewhere-'));
    try {
      const away = ended('1', 9, elsewhere);
      const linked = ended('2', 9);
      renameSync(linked, join(root, 'moved'));
      symlinkSync(away, linked);
      const bodies = ended('3', 9);
      rmSync(join(bodies, 'bodies'), { recursive: true });
      symlinkSync(join(away, 'bodies'), join(bodies, 'bodies'));
      const file = ended('4', 9);
      rmSync(join(file, 'journal.jsonl'));
      symlinkSync(join(away, 'journal.jsonl'), join(file, 'journal.jsonl'));
      const before = readdirSync(join(away, 'bodies'));
      await retain({ age: 1 });
      expect(hasJournal(away)).toBe(true);
      expect(readdirSync(join(away, 'bodies'))).toEqual(before);
      expect(hasJournal(file)).toBe(true);
      expect(hasJournal(bodies)).toBe(false);

      const sessions = join(root, '.svc', 'sessions');
      rmSync(sessions, { recursive: true });
      symlinkSync(join(elsewhere, '.svc', 'sessions'), sessions);
      expect(await retain({ age: 1 })).toMatchObject({ removed: 0 });
      expect(hasJournal(away)).toBe(true);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('leaves what svc did not write', async () => {
    const old = ended('1', 9);
    const name = '0'.repeat(64);
    writeFileSync(join(old, 'bodies', 'notes.txt'), 'mine');
    mkdirSync(join(old, 'bodies', name));
    writeFileSync(join(old, 'notes.txt'), 'mine');
    mkdirSync(join(root, '.svc', 'sessions', 'mine'));
    writeFileSync(join(root, '.svc', 'sessions', 'mine', 'journal.jsonl'), 'mine');
    expect(await retain({ age: 1 })).toMatchObject({ removed: 1, left: 0 });
    expect(readdirSync(old).toSorted()).toEqual(['bodies', 'journal.removed', 'notes.txt', 'trace.jsonl']);
    expect(readdirSync(join(old, 'bodies')).toSorted()).toEqual([name, 'notes.txt']);
    expect(existsSync(join(root, '.svc', 'sessions', 'mine', 'journal.jsonl'))).toBe(true);
  });

  it('leaves what belongs to another user', async (context) => {
    context.skip(process.geteuid?.() !== 0, 'needs root to give files away');
    const theirs = ended('1', 9);
    chownSync(theirs, 12_345, 12_345);
    const body = ended('2', 9);
    const [name = ''] = readdirSync(join(body, 'bodies'));
    chownSync(join(body, 'bodies', name), 12_345, 12_345);
    await retain({ age: 1 });
    expect(hasJournal(theirs)).toBe(true);
    expect(readdirSync(join(body, 'bodies'))).toEqual([name]);
  });

  it('finishes with the next one after an interruption at any point', async () => {
    const renamed = ended('1', 1);
    renameSync(join(renamed, 'journal.jsonl'), join(renamed, 'journal.removed'));
    const half = ended('2', 1);
    renameSync(join(half, 'journal.jsonl'), join(half, 'journal.removed'));
    rmSync(join(half, 'bodies'), { recursive: true });
    const emptied = ended('3', 1);
    renameSync(join(emptied, 'journal.jsonl'), join(emptied, 'journal.removed'));
    rmSync(join(emptied, 'bodies'), { recursive: true });
    truncateSync(join(emptied, 'journal.removed'));
    // Within all limits: half a journal is of no use to anybody.
    expect(await retain({})).toMatchObject({ removed: 2, left: 0 });
    for (const folder of [renamed, half, emptied]) {
      expect(readdirSync(folder).toSorted()).toEqual(whatIsLeft);
      expect(statSync(join(folder, 'journal.removed')).size).toBe(0);
    }
  });

  it('may be done by several at once', async () => {
    const folders = Array.from({ length: 30 }, (_, index) => ended(String(index + 1), index + 1));
    const all = await Promise.all([retain({ sessions: 2 }), retain({ sessions: 2 }), retain({ sessions: 2 })]);
    expect(all.map(({ left }) => left)).toEqual([0, 0, 0]);
    expect(folders.map(hasJournal).filter(Boolean)).toEqual([true, true]);
    for (const folder of folders.slice(2)) expect(readdirSync(folder).toSorted()).toEqual(whatIsLeft);
  });

  it('removes the journals of a hundred sessions and no more, the oldest ones', async () => {
    const folders = Array.from({ length: 104 }, (_, index) => ended(String(index + 1), index + 2));
    expect(await retain({ age: 86_400 })).toMatchObject({ removed: 100 });
    expect(folders.map(hasJournal).filter(Boolean)).toHaveLength(4);
    expect(folders.slice(0, 4).every(hasJournal)).toBe(true);
  });

  it('says what the system refused, and leaves the journal whole then', async () => {
    const old = ended('1', 9);
    const other = ended('2', 8);
    mkdirSync(join(old, 'journal.removed'));
    expect(await retain({ age: 1 })).toMatchObject({ removed: 1, left: 1 });
    expect([old, other].map(hasJournal)).toEqual([true, false]);
    expect(readdirSync(join(old, 'bodies'))).toHaveLength(2);
  });

  it('never keeps the event loop for long', async () => {
    for (let index = 0; index < 20; index += 1) {
      const folder = ended(String(index + 1), index + 1);
      for (let body = 0; body < 40; body += 1) {
        writeFileSync(join(folder, 'bodies', `${index}${body}`.padStart(64, '0')), 'x');
      }
    }
    let turns = 0;
    const over = new AbortController();
    const counting = (async () => {
      while (!over.signal.aborted) {
        turns += 1;
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
    })();
    await retain({ age: 1 });
    over.abort();
    await counting;
    // 20 sessions with 42 files each, each of them removed by a thread.
    expect(turns).toBeGreaterThan(500);
  });
});
