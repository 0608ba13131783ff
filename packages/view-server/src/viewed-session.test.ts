import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { SessionId } from '@svc/protocol/ids.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { openJournal } from '@svc/record/journal/journal-writer.ts';
import { roomy } from '../../record/test/journal/recorded-session.ts';
import { FolderSession, SessionLooks, viewedFacts } from './viewed-session.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

const swapWriter = fileURLToPath(new URL('../../../test/support/swap-writer.mjs', import.meta.url));
const id = 'ses_0123456789ab7000800000000000c001';
const rounds = 20_000;
const maxRounds = 400_000;

let root = '';
eachFolder('svc-view-race-', (made) => {
  root = made;
  mkdirSync(join(root, 'work', id, '.svc', 'children', 'painter'), { recursive: true });
  mkdirSync(join(root, 'elsewhere', 'painter'), { recursive: true });
});

function child(): FolderSession {
  const place = { root: join(root, 'work'), below: `${id}/.svc/children/painter` };
  return new FolderSession({
    id,
    home: root,
    place: null,
    hold: () => HeldDirectory.at(root),
    usualWorkdir: () => place,
  });
}

describe.skipIf(!existsSync('/proc/self/fd'))('the workdir of a session (skipped without /proc)', () => {
  it('must be the one that its parent has, and never one that a link leads to', () => {
    expect(child().workdir()).toBe(join(root, 'work', id, '.svc', 'children', 'painter'));
    rmSync(join(root, 'work', id, '.svc', 'children'), { recursive: true });
    expect(child().workdir()).toBeNull();
    symlinkSync(join(root, 'elsewhere'), join(root, 'work', id, '.svc', 'children'));
    expect(child().workdir()).toBeNull();
  });

  it.each(['.svc/children/painter', '.svc/children'])(
    'never leads along a link, while the two take turns at %s without a pause',
    async (part) => {
      const link = join(root, 'link');
      symlinkSync(join(root, 'elsewhere'), link);
      const words = [swapWriter, join(root, 'work', id, part), link, join(root, 'away')];
      const writer = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
      onTestFinished(() => void writer.kill('SIGKILL'));
      await once(writer.stdout, 'data');
      const met = new Set<string | null>();
      for (let round = 0; round < maxRounds && (round < rounds || met.size < 2); round += 1) met.add(child().workdir());
      writer.stdin.end();
      expect(Number(await text(writer.stdout))).toBeGreaterThan(0);
      expect([...met].filter((path) => path?.startsWith(join(root, 'elsewhere')))).toEqual([]);
      expect(met.has(null)).toBe(true);
      expect(met.has(join(root, 'work', id, '.svc', 'children', 'painter'))).toBe(true);
    },
  );
});

describe('the journal of a session', () => {
  it('says where it is damaged, however long it goes on behind that', async () => {
    const [directory, session] = [root, id as SessionId];
    const clock = new FakeClock();
    const redact = (text: string): string => text;
    const journal = openJournal({
      directory,
      session,
      capture: 'content',
      redact,
      limits: roomy,
      clock,
      onFull: () => {},
    });
    const capsule = { name: 'painter', version: '1.0.0' };
    const about = {
      at: 1,
      version: 1,
      session,
      epoch: 1,
      svc: '1',
      node: '20',
      capture: 'content',
      trusted: true,
    } as const;
    journal.append({ k: 'open', ...about, capsule });
    for (let at = 0; at < 600; at += 1) journal.append({ k: 'in', at, what: 'timer', name: `t${at}` });
    journal.append({ k: 'close', at: 2, status: 'ok', reason: null });
    journal.close();
    const looks = new SessionLooks();
    const notes = async (): Promise<readonly string[]> => (await viewedFacts(child(), { looks, readOnly: true })).notes;
    expect(await notes()).toEqual([
      'There is no trace of the session: it ended before it began, or the trace was removed.',
    ]);
    const file = join(root, 'journal.jsonl');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"name":"t30"', '"name":"t3"'));
    const [, note] = await notes();
    expect(note).toMatch(/^The journal is damaged: record 31, at byte \d+, does not fit the chain\.$/);
  });
});
