import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { mebibyte, RecordedSession, sessionId } from '../../../record/test/journal/recorded-session.ts';
import { JournalKeeper, retainLater } from './journal-keeper.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';

/** What a journal begins with of a capsule whose manifest is so long that it has a file of its own. */
function launchIn(directory: string): PreparedLaunch {
  const manifest = { name: 'demo', version: '1.0.0', trace: { max_body: mebibyte, max_bytes: 64 * mebibyte } };
  return {
    loaded: { manifest, directory, systemPrompt: '', text: `# ${'x'.repeat(100_000)}` },
    source: { lockDirectory: directory },
    scope: { containment: { achieved: 'advisory' } },
    artifacts: [],
    redactor: new Redactor(),
    isCaptureAsked: true,
  } as unknown as PreparedLaunch;
}

function openFiles(directory: string): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(directory) ? [target] : [];
    } catch {
      // The one that the folder was read by is closed again.
      return [];
    }
  });
}

it('JournalKeeper closes everything of a journal whose first records cannot be written', () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-keeper-'));
  try {
    writeFileSync(join(directory, 'bodies'), 'in the way');
    const request = { launch: launchIn(directory), sessionId: sessionId(), capture: 'content', directory } as const;
    const rest = { tools: [], conversations: 'nowhere', onWarning: () => {} } as const;
    expect(diagnosticOf(() => void new JournalKeeper({ ...request, ...rest }))).toMatchObject({ code: 'E-IO-006' });
    expect(openFiles(directory)).toEqual([]);
    expect(readdirSync(directory)).not.toContain('journal.holder');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it('a session that ends at once leaves the journals of others alone for as long as nobody has to look', async () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-keeper-'));
  try {
    const end = async (age: number): Promise<void> => {
      const manifest = { trace: { keep: { sessions: 50, age, bytes: 2 ** 31 } } };
      const launch = { loaded: { manifest }, source: { root } } as unknown as PreparedLaunch;
      await retainLater({ launch, home: join(root, 'home'), onRetained: () => {} })();
    };
    const ended = (digits: string): string => {
      const { folder } = new RecordedSession(root, { session: digits }).task(digits).taskEnd().close();
      const journal = join(folder, 'journal.jsonl');
      utimesSync(journal, 1_700_000_000, 1_700_000_000);
      return journal;
    };
    const journals = [ended('1'), ended('2')];
    await end(1e9);
    journals.push(ended('3'));
    await end(1e9);
    expect(journals.map((journal) => existsSync(journal))).toEqual([true, true, true]);
    await end(86_400);
    expect(journals.map((journal) => existsSync(journal))).toEqual([false, false, false]);
    const late = ended('4');
    await end(86_400);
    expect(existsSync(late)).toBe(true);
    rmSync(join(root, '.svc', 'last-look.json'));
    await end(86_400);
    expect(existsSync(late)).toBe(false);
  } finally {
    rmSync(root, { recursive: true });
  }
});
