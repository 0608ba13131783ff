import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { directoryContract, regularFileContract } from '../../../../test/support/beneath-contract.ts';
import { boundedReadContract } from '../../../../test/support/bounded-read-contract.ts';
import { readChildReport, statusToldIn } from './completions.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const ids = { delegationId: 'dlg_1', sessionId: 'ses_1' };
const record = {
  delegation_id: 'dlg_1',
  session_id: 'ses_1',
  reported_by: 'child',
  status: 'ok',
  duration_ms: 3,
  result_path: 'out/result.txt',
};

let folder: string;
eachFolder('svc-completion-', (made) => {
  folder = made;
});

function reportOf(text: string): unknown {
  writeFileSync(join(folder, 'completion.json'), text);
  return readChildReport(folder, ids);
}

describe('the report that a child left', () => {
  it('says how it ended, how long it ran and where its result is', () => {
    expect(reportOf(JSON.stringify(record))).toEqual({
      status: 'ok',
      duration_ms: 3,
      delivered: false,
      undelivered: null,
      result_path: 'out/result.txt',
    });
  });

  boundedReadContract('its reader', {
    maxBytes: 64 * 1024,
    content: (bytes) => JSON.stringify(record).padEnd(bytes),
    read: (pieces) => {
      const text = Buffer.concat(pieces).toString();
      return reportOf(text) === null ? null : text;
    },
  });

  directoryContract('its reader', {
    prepare: (directory, isDecoy) => {
      const delivered = { ...record, delivered: isDecoy };
      writeFileSync(join(directory, 'completion.json'), JSON.stringify(delivered));
    },
    reach: (directory) => {
      const report = readChildReport(directory, ids);
      if (report?.delivered === true) throw new Error('a decoy was read');
      return report;
    },
  });

  regularFileContract('its reader', {
    name: 'completion.json',
    content: JSON.stringify(record),
    read: (directory) => readChildReport(directory, ids),
  });

  it('says whether the child knew that it was delivered', () => {
    expect(reportOf(JSON.stringify({ ...record, delivered: true }))).toMatchObject({ delivered: true });
    expect(reportOf(JSON.stringify({ ...record, delivered: 'true' }))).toMatchObject({ delivered: false });
  });

  it('says why it could not be delivered, briefly and printably', () => {
    const report = reportOf(JSON.stringify({ ...record, delivery_error: `no room\n${'x'.repeat(2000)}` }));
    expect(report).toMatchObject({ undelivered: `no room\\u{a}${'x'.repeat(992)}…` });
  });

  it.each(['/etc/passwd', '../x', 'a/../../x', 'a//b', '', 'a\0b', 'x'.repeat(2000), 7])(
    'has no result at a path such as %j',
    (path) => {
      expect(reportOf(JSON.stringify({ ...record, result_path: path }))).toEqual({
        status: 'ok',
        duration_ms: 3,
        delivered: false,
        undelivered: null,
      });
    },
  );

  it.each([
    '',
    'nonsense',
    'null',
    '[]',
    JSON.stringify({ ...record, duration_ms: -1 }),
    JSON.stringify({ ...record, duration_ms: '3' }),
    JSON.stringify({ ...record, status: 'crashed' }),
    `${' '.repeat(70_000)}${JSON.stringify(record)}`,
  ])('stays unread: %.30s', (text) => {
    expect(reportOf(text)).toBeNull();
  });

  it('stays unread when the file is missing, or is something that never ends', () => {
    expect(readChildReport(folder, ids)).toBeNull();
    execFileSync('mkfifo', [join(folder, 'completion.json')]);
    expect(readChildReport(folder, ids)).toBeNull();
    rmSync(join(folder, 'completion.json'));
    mkdirSync(join(folder, 'completion.json'));
    expect(readChildReport(folder, ids)).toBeNull();
  });
});

describe.skipIf(!existsSync('/proc/self/fd'))('behind a link that its parent put there (skipped without /proc)', () => {
  it.each(['.svc/children/c', '.svc/children', '.svc'])('at %s stays unread', (part) => {
    const child = join(folder, '.svc/children/c');
    mkdirSync(child, { recursive: true });
    writeFileSync(join(child, 'completion.json'), JSON.stringify(record));
    expect(readChildReport(child, ids)).toMatchObject({ status: 'ok' });
    renameSync(join(folder, part), join(folder, 'moved'));
    symlinkSync(join(folder, 'moved'), join(folder, part));
    expect(readChildReport(child, ids)).toBeNull();
  });
});

describe('completionStatus', () => {
  it.each([
    ['{"status":"ok"}', 'ok'],
    ['{"status":"error"}', 'error'],
    ['{"status":"crashed"}', 'error'],
    ['all is well', 'error'],
  ])('maps %s to %s', (text, status) => {
    expect(statusToldIn(text)).toBe(status);
  });
});
