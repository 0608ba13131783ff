import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { runSync } from '@svc/kit/yield-to-loop.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { knows, mebibyte, RecordedSession, roomy, sessionId } from '../../test/journal/recorded-session.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { type Capture, type Journal, type JournalLimits, openJournal } from './journal-writer.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder = '';

eachFolder('svc-journal-', (made) => {
  folder = made;
});

interface Options {
  readonly capture?: Capture;
  readonly limits?: JournalLimits;
  readonly redact?: (text: string) => string;
  readonly onFull?: () => void;
  readonly directory?: string;
}

function open({ redact = (text) => text, capture = 'content', limits = roomy, ...rest }: Options = {}): Journal {
  const { onFull = () => {}, directory = folder } = rest;
  return openJournal({ directory, session: sessionId(), capture, redact, limits, clock: new FakeClock(), onFull });
}

function text(): string {
  return readFileSync(join(folder, 'journal.jsonl'), 'utf8');
}

function lines(): Record<string, unknown>[] {
  return text()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const stop = { k: 'in', what: 'stop' } as const;

describe('a journal', () => {
  it('belongs to the owner alone, numbers its records from 0 and ties each to the one before', () => {
    const journal = open();
    journal.append(stop);
    const sha256 = runSync(journal.body('a text'));
    journal.append({ k: 'in', what: 'answer', at: 7, task: 'tsk_1', text: sha256 });
    journal.close();
    expect(statSync(join(folder, 'journal.jsonl')).mode & 0o777).toBe(0o600);
    expect(text()).toBe(
      '{"n":0,"k":"in","at":1760000000000,"what":"stop","c":"17f278e31e83b6f6"}\n' +
        `{"n":1,"k":"body","sha256":"${sha256}","bytes":6,"data":"a text","c":"5aedf6fa826043dd"}\n` +
        `{"n":2,"k":"in","at":7,"what":"answer","task":"tsk_1","text":"${sha256}","c":"d7c3962f19402d8b"}\n`,
    );
  });

  it('never continues an existing file', () => {
    open().close();
    expect(() => open()).toThrow('cannot be written: a file of that name is there');
  });

  it('takes nothing once it is closed', () => {
    const journal = open();
    journal.close();
    journal.close();
    expect(() => journal.append(stop)).toThrow('is closed: the session ses_00000000000000000000000000000001 has ended');
    expect(() => runSync(journal.body('x'))).toThrow('is closed');
    expect(text()).toBe('');
  });
});

describe('a text of a journal', () => {
  it('goes into its line once up to 64 KiB of UTF-8, and beyond into a file of its own', () => {
    const journal = open();
    const longest = 'é'.repeat(32 * 1024);
    for (const each of [longest, longest, `${longest}x`, `${longest}x`]) runSync(journal.body(each));
    journal.close();
    const longer = sha256Hex(`${longest}x`);
    expect(lines()).toMatchObject([
      { k: 'body', sha256: sha256Hex(longest), bytes: 65_536, data: longest },
      { k: 'body', sha256: longer, bytes: 65_537, file: true },
    ]);
    expect(lines()[1]).not.toHaveProperty('data');
    expect(readdirSync(join(folder, 'bodies'))).toEqual([longer]);
    expect(readFileSync(join(folder, 'bodies', longer), 'utf8')).toBe(`${longest}x`);
    expect(statSync(join(folder, 'bodies')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'bodies', longer)).mode & 0o777).toBe(0o600);
  });

  it('goes in again where it is named after 65,536 others, so that a session of weeks does not grow', () => {
    const journal = open();
    const kept = (each: string): string => runSync(journal.body(each));
    const [first, second] = [kept('first'), kept('second')];
    for (let others = 0; others < 65_535; others += 1) kept(`${others}`);
    // It was named among them, and is not the one that was longest not named.
    kept('second');
    kept('65535');
    expect([kept('second'), kept('first')]).toEqual([second, first]);
    journal.append(stop);
    journal.close();
    const hashes = lines().map((line) => line['sha256']);
    expect(hashes.filter((sha256) => sha256 === first)).toHaveLength(2);
    expect(hashes.filter((sha256) => sha256 === second)).toHaveLength(1);
  });

  it('keeps whole characters only, so that its hash is that of its bytes', () => {
    const journal = open();
    expect(runSync(journal.body('half \uD83D'))).toBe(sha256Hex('half \uFFFD'));
    expect(runSync(journal.body('half \uFFFD'))).toBe(sha256Hex('half \uFFFD'));
    journal.close();
    expect(lines()).toMatchObject([{ bytes: 8, data: 'half \uFFFD' }]);
  });

  it('leaves hash, size and both ends where it is longer than is kept', () => {
    const journal = open({ limits: { maxBody: 20_000, maxBytes: mebibyte } });
    const long = `${'é'.repeat(2047)}-世${'x'.repeat(20_000)}世-${'é'.repeat(2047)}`;
    runSync(journal.body(long));
    journal.close();
    expect(lines()).toMatchObject([
      {
        sha256: sha256Hex(long),
        bytes: 28_196,
        cut: { head: `${'é'.repeat(2047)}-`, tail: `-${'é'.repeat(2047)}` },
      },
    ]);
    expect(Object.keys(lines()[0] ?? {})).toEqual(['n', 'k', 'sha256', 'bytes', 'cut', 'c']);
  });

  it('leaves hash and size alone in a journal of meta', () => {
    const journal = open({ capture: 'meta' });
    runSync(journal.body('x'.repeat(100_000)));
    expect(journal.capture).toBe('meta');
    journal.close();
    expect(Object.keys(lines()[0] ?? {})).toEqual(['n', 'k', 'sha256', 'bytes', 'c']);
    expect(readdirSync(folder)).toEqual(['journal.jsonl']);
  });

  it('leaves at most that once the journal is full, which svc reports once', () => {
    let told = 0;
    const journal = open({
      limits: { maxBody: mebibyte, maxBytes: 200_000 },
      onFull: () => {
        told += 1;
        journal.append({ k: 'in', what: 'stop' });
      },
    });
    for (const letter of 'abcd') runSync(journal.body(letter.repeat(70_000)));
    expect(journal.capture).toBe('meta');
    runSync(journal.body('e'));
    journal.close();
    expect(told).toBe(1);
    expect(lines().map(({ k, file, data }) => [k, file ?? data ?? null])).toEqual([
      ['body', true],
      ['body', true],
      ['body', null],
      ['in', null],
      ['body', null],
      ['body', null],
    ]);
  });
});

describe('secrets', () => {
  const canary = 'canary/"7f3a"';

  it('enter no byte of a journal, whichever text or record they come in', async () => {
    const spelled = [canary, JSON.stringify(canary).slice(1, -1), encodeURIComponent(canary)];
    const session = new RecordedSession(folder, {
      redactor: await knows(canary),
      capsule: canary,
      model: canary,
      system: `Never say ${canary}.`,
      tools: [{ name: canary }],
    });
    const { journal } = session;
    session.task(`The key is ${canary}`).model(canary, [canary]).shell(`echo ${canary}`, canary.repeat(10_000), 1);
    journal.append({
      k: 'start',
      e: `session/h-${canary}-1/${canary}`,
      port: 'hook',
      name: canary,
      in: session.json(canary),
    });
    journal.append({ k: 'in', what: 'timer', name: `session/${canary}` });
    journal.append({ k: 'in', what: 'answer', text: runSync(journal.body(canary)) });
    session.taskEnd(canary);
    journal.append({ k: 'close', status: 'failed', reason: canary });
    journal.close();
    const written = readdirSync(session.folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(session.folder, name)).isFile())
      .map((name) => readFileSync(join(session.folder, name), 'utf8'));
    expect(written).toHaveLength(3);
    for (const each of spelled) for (const kept of written) expect(kept).not.toContain(each);
  });

  it('take nothing away from ids, hashes and words of the format, however short they are', async () => {
    const session = new RecordedSession(folder, { redactor: await knows('0000', 'text', 'session', 'model') });
    session.task('text').model('session').close();
    const written = readFileSync(join(session.folder, 'journal.jsonl'), 'utf8');
    expect(written).toContain('"session":"ses_00000000000000000000000000000001"');
    expect(written).toContain('"e":"tsk_00000000000000000000000000000001/1/m1","port":"model"');
    expect(written).toContain('"ctx":"ctx_00000000000000000000000000000001"');
    expect(written).toContain(`"text":"${sha256Hex('[secret]')}"`);
  });

  it('give the same hashes as a run without secrets', () => {
    const journal = open({ redact: (each) => each.replaceAll('hidden', '[secret]') });
    expect(runSync(journal.body('a hidden word'))).toBe(sha256Hex('a [secret] word'));
    journal.close();
  });
});

describe('a journal on a disk that refuses', () => {
  const isRoot = process.getuid?.() === 0;

  it.skipIf(!isRoot)('keeps its state from before the record that found no room (needs root, to mount one)', () => {
    const small = join(folder, 'small');
    execFileSync('mkdir', [small]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', small]);
    try {
      const journal = open({ directory: small });
      journal.append(stop);
      runSync(journal.body('x'.repeat(40_000)));
      journal.append(stop);
      const before = readFileSync(join(small, 'journal.jsonl'));
      writeFileSync(join(small, 'filler'), Buffer.alloc(72 * 1024));
      runSync(journal.body('y'.repeat(40_000)));
      expect(() => journal.append(stop)).toThrow('cannot be written: no space left on the device');
      expect(readFileSync(join(small, 'journal.jsonl'))).toEqual(before);
      expect(() => runSync(journal.body('z'.repeat(70_000)))).toThrow('cannot be written: no space left on the device');
      expect(readdirSync(join(small, 'bodies'))).toEqual([]);
      rmSync(join(small, 'filler'));
      // Nothing is missing where it goes on: neither number nor chain nor text.
      runSync(journal.body('y'.repeat(40_000)));
      journal.append(stop);
      journal.close();
      const numbers = readFileSync(join(small, 'journal.jsonl'), 'utf8').match(/(?<=^\{"n":)\d+/gm);
      expect(numbers).toEqual(['0', '1', '2', '3', '4']);
    } finally {
      execFileSync('umount', [small]);
    }
  });
});
