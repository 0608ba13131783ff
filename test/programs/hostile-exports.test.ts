import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, crc32, deflateRawSync } from 'node:zlib';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type RawEntry, zipBytes } from '../../packages/artifacts/test/store/zip-bytes.ts';
import { RecordedSession } from '../../packages/record/test/journal/recorded-session.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

let workspace: Workspace;
let scratch = '';

beforeEach(() => {
  workspace = makeWorkspace({});
  scratch = join(workspace.home, 'tmp');
  mkdirSync(scratch);
});

afterEach(() => workspace.remove());

async function run(command: string, env: Readonly<Record<string, string>> = {}): Promise<SvcEnd> {
  return await svc(workspace, command.split(' '), { env: { TMPDIR: scratch, ...env } });
}

/** What a command has left of an archive that it did not take. */
function left(): readonly string[] {
  const sessions = join(workspace.folder, '.svc', 'sessions');
  return [
    ...readdirSync(scratch),
    ...readdirSync(workspace.folder).flatMap((name) => (name === '.svc' ? readdirSync(sessions) : [])),
  ];
}

const mebibyte = 1024 * 1024;

/** A journal of one line of blanks that is as long as it says, in half a megabyte. */
function longLine(mebibytes: number): RawEntry {
  const blanks = Buffer.alloc(mebibyte, ' ');
  // Ended at a byte, so that the same bytes may follow.
  const packed = deflateRawSync(blanks, { finishFlush: constants.Z_FULL_FLUSH });
  const end = deflateRawSync(Buffer.alloc(0));
  const crc = Array.from({ length: mebibytes }).reduce<number>((sum) => crc32(blanks, sum), 0);
  const data = Buffer.concat([...Array.from({ length: mebibytes }, () => packed), end]);
  return { name: 'journal.jsonl', data, method: 8, size: mebibytes * mebibyte, crc };
}

const commands = ['trace import ./in.zip', 'trace steps ./in.zip', 'run --replay ./in.zip', 'view ./in.zip'];

/** The end of a command, and how many MiB of memory it had at most. */
async function weighed(command: string): Promise<SvcEnd & { readonly mebibytes: number }> {
  const peak = join(workspace.home, 'peak');
  const preload = fileURLToPath(new URL('../support/peak-memory.cjs', import.meta.url));
  const end = await run(command, { NODE_OPTIONS: `--require ${preload}`, PEAK_MEMORY: peak });
  return { ...end, mebibytes: Number(readFileSync(peak, 'utf8')) / 1024 };
}

describe('an export of a stranger', () => {
  it('needs little memory in svc prune, where it is a test', async () => {
    new RecordedSession(workspace.folder).task('Go.').model('Done.').close();
    workspace.write('tests/long/expect.yaml', '');
    writeFileSync(join(workspace.folder, 'tests/long/session.zip'), zipBytes([longLine(400)]));
    const { code, mebibytes } = await weighed('prune --keep 0 --yes');
    expect({ code, left: left() }).toEqual({ code: 0, left: [] });
    expect(mebibytes).toBeLessThan(256);
  });

  it('needs little memory to unpack, however long a file in it is', async () => {
    writeFileSync(join(workspace.folder, 'in.zip'), zipBytes([longLine(400)]));
    for (const command of ['trace import in.zip', 'trace steps ./in.zip']) {
      const { code, stderr, mebibytes } = await weighed(command);
      expect(code).toBe(1);
      expect(stderr).toContain(
        'error[E-RUN-073]: the journal is damaged: record 0, at byte 0, is longer than a record',
      );
      expect(mebibytes).toBeLessThan(256);
      expect(left()).toEqual([]);
    }
  }, 60_000);

  const data = Buffer.from('{"n":0}\n'.repeat(200_000));
  const damages: readonly (readonly [string, Buffer, string])[] = [
    ['is no archive', Buffer.from('PK'), 'is not a readable zip archive: '],
    ['is cut off', zipBytes([{ name: 'journal.jsonl', data }]).subarray(0, -30), 'is not a readable zip archive: '],
    [
      'has one byte of a journal changed',
      zipBytes([{ name: 'journal.jsonl', data, deflate: true, crc: 1 }]),
      'entry "journal.jsonl" has a wrong checksum\n',
    ],
    [
      'has a journal that ends early',
      zipBytes([{ name: 'journal.jsonl', data: deflateRawSync(data).subarray(0, -5), method: 8, size: data.length }]),
      'entry "journal.jsonl" has damaged data\n',
    ],
    [
      'has a journal that is longer than it says',
      zipBytes([{ name: 'journal.jsonl', data, deflate: true, size: 1000 }]),
      'entry "journal.jsonl" unpacks to more bytes than it declares\n',
    ],
  ];
  it.each(damages)('fails when it %s, with what to do, and nothing of it stays', async (_, bytes, fault) => {
    writeFileSync(join(workspace.folder, 'in.zip'), bytes);
    for (const command of commands) {
      const { code, stdout, stderr } = await run(command);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-ART-001\]: .*\/in\.zip/);
      expect(stderr).toContain(fault);
      expect(stderr).toContain(
        '\nhint: nothing was taken from it; fetch the file again, or export its session again: svc trace export <session> -o <file.zip>\n',
      );
      expect(left()).toEqual([]);
    }
  });
});
