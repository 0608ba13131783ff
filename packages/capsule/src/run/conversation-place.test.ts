import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { openConversationPlace, type ConversationPlace } from './conversation-place.ts';
import { processStart } from '@svc/kit/process-stat.ts';

let root: string;
let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
  root = mkdtempSync(join(tmpdir(), 'svc-places-'));
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const first = 'ses_00000000000000000000000000000001' as SessionId;
const second = 'ses_00000000000000000000000000000002' as SessionId;

interface Choice {
  readonly capsule?: string;
  readonly workdir?: string;
  readonly thread?: string;
}

function open(sessionId: SessionId, { capsule = 'demo', workdir = '/work', thread }: Choice = {}): ConversationPlace {
  return openConversationPlace({ root, capsule, workdir, thread, sessionId }, clock);
}

describe('the place of a capsule’s conversations', () => {
  it('belongs to the owner only, below .svc, by the hash of the workdir and the name of the capsule', () => {
    const { directory } = open(first);
    expect(directory).toBe(
      join(root, '.svc/conversations/0c9a453fad615c83c57d57c2b2be05fa938f0791d7624db43827a033227bf78b/demo'),
    );
    for (const made of [directory, join(root, '.svc/conversations')]) expect(statSync(made).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, `${first}.holder`)).mode & 0o777).toBe(0o600);
  });

  it('serves one session at a time', () => {
    const held = open(first);
    expect(() => open(second)).toThrow(
      expect.objectContaining({
        code: 'E-RUN-033',
        message: `session ${first} (process ${process.pid}) works in /work already`,
      }),
    );
    expect(readdirSync(held.directory)).toEqual([`${first}.holder`]);
    held.release();
    expect(readdirSync(open(second).directory)).toEqual([`${second}.holder`]);
  });

  it('differs for another capsule or workdir', () => {
    const held = open(first);
    expect(open(second, { capsule: 'other' }).directory).not.toBe(held.directory);
    expect(open(second, { workdir: '/work2' }).directory).not.toBe(held.directory);
  });

  it('differs for a thread of the workdir, and stays the same for that again', () => {
    const held = open(first);
    const threaded = open(second, { thread: 'a' });
    expect(threaded.directory).not.toBe(held.directory);
    expect(open(second, { thread: 'b' }).directory).not.toBe(threaded.directory);
    expect(() => open(first, { thread: 'a' })).toThrow(expect.objectContaining({ code: 'E-RUN-033' }));
  });

  it('becomes free again when its session was killed', async () => {
    const holder = spawn('sleep', ['1000'], { stdio: 'ignore' });
    const place = open(first);
    place.release();
    const path = join(place.directory, `${first}.holder`);
    const left = { session_id: first, pid: holder.pid, process_start: processStart(holder.pid ?? 0) };
    writeFileSync(path, JSON.stringify(left));
    expect(() => open(second)).toThrow(`session ${first} (process ${holder.pid}) works in /work already`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    open(second);
    expect(existsSync(path)).toBe(false);
  });

  it('stays free when a process only has the number of an earlier one', () => {
    const place = open(first);
    writeFileSync(
      join(place.directory, `${first}.holder`),
      JSON.stringify({ session_id: first, pid: process.pid, process_start: '1' }),
    );
    expect(readdirSync(open(second).directory)).toEqual([`${second}.holder`]);
  });

  it('belongs to a process that cannot be looked up here as long as its holder touches it', () => {
    const place = open(first);
    place.release();
    const path = join(place.directory, `${first}.holder`);
    const holder = { session_id: first, pid: 2 ** 22 + 1, process_start: '1', boot: 'another machine', pid_space: 'p' };
    writeFileSync(path, JSON.stringify(holder));
    const touched = clock.now();
    utimesSync(path, touched / 1000, touched / 1000);
    clock.advance(299_000);
    expect(() => open(second)).toThrow(
      expect.objectContaining({ code: 'E-RUN-033', hint: expect.stringMatching(/^it is of another container/) }),
    );
    expect(readdirSync(place.directory)).toEqual([`${first}.holder`]);
    clock.advance(1_000);
    open(second);
    expect(readdirSync(place.directory)).toEqual([`${second}.holder`]);
  });

  it('gets a touch each minute as long as a session has it', () => {
    const { directory, release } = open(first);
    const path = join(directory, `${first}.holder`);
    const before = clock.now();
    for (let minutes = 1; minutes <= 3; minutes += 1) {
      clock.advance(60_000);
      expect(statSync(path).mtimeMs).toBe(before + minutes * 60_000);
    }
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      boot: expect.anything(),
      pid_space: expect.stringMatching(/^pid:/),
    });
    release();
    writeFileSync(path, '');
    utimesSync(path, 1, 1);
    clock.advance(600_000);
    expect(statSync(path).mtimeMs).toBe(1000);
  });

  it('stays free when its file says nothing', () => {
    const place = open(first);
    writeFileSync(join(place.directory, `${first}.holder`), '');
    expect(readdirSync(open(second).directory)).toEqual([`${second}.holder`]);
  });

  it('fails with E-IO-001 when it cannot be made', () => {
    writeFileSync(join(root, '.svc'), '');
    expect(() => open(first)).toThrow(expect.objectContaining({ code: 'E-IO-001' }));
  });
});
