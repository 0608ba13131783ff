import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { processStart } from '@svc/kit/process-stat.ts';
import { liveRecord } from '../../../../test/support/running-record.ts';
import { replacementContract } from '../../../../test/support/replacement-contract.ts';
import { readRunningRecords, writeRunningRecord } from './running-record.ts';

let home: string;
let directory: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-running-'));
  directory = join(home, '.svc', 'running');
});

afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const live = liveRecord();

describe('the records of running sessions', () => {
  replacementContract('as one of them', {
    path: `.svc/running/${live.session_id}.${live.pid}.json`,
    mode: 0o600,
    write: (place, variant) => void writeRunningRecord(place, { ...live, name: variant }),
  });

  it('are there until they are taken away', () => {
    const forget = writeRunningRecord(home, live);
    expect(readRunningRecords(home)).toEqual([live]);
    forget();
    forget();
    expect(readRunningRecords(home)).toEqual([]);
  });

  it('lose those of dead processes and keep what cannot be understood', () => {
    writeRunningRecord(home, live);
    const dead = JSON.stringify({ ...live, process_start: '1' });
    writeFileSync(join(directory, 'dead.json'), dead);
    writeFileSync(join(directory, 'dead.json.tmp'), dead);
    writeFileSync(join(directory, 'later.json'), '{"format":2}');
    writeFileSync(join(directory, 'half.json.tmp'), '{"ses');
    expect(readRunningRecords(home)).toEqual([live]);
    expect(readdirSync(directory).toSorted()).toEqual([
      'half.json.tmp',
      'later.json',
      `${live.session_id}.${live.pid}.json`,
    ]);
  });

  it('lose those of processes that have ended and that their parents do not wait for', async () => {
    // The shell becomes a program that waits for nobody.
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 1000'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    try {
      writeRunningRecord(home, { ...live, pid, process_start: processStart(pid) });
      expect(readRunningRecords(home)).toHaveLength(1);
      while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await setTimeout(20);
      expect(readRunningRecords(home)).toEqual([]);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  it('keep that of a session which was started again under its id, whatever becomes of the one before', () => {
    const before = { ...live, pid: 1, process_start: '1' };
    const forget = writeRunningRecord(home, before);
    writeRunningRecord(home, live);
    expect(readdirSync(directory)).toHaveLength(2);
    expect(readRunningRecords(home)).toEqual([live]);
    expect(readdirSync(directory)).toHaveLength(1);
    writeRunningRecord(home, before);
    forget();
    expect(readRunningRecords(home)).toEqual([live]);
  });

  it('do not show one twice that is being written', () => {
    writeRunningRecord(home, live);
    writeFileSync(join(directory, `${live.session_id}.json.tmp`), JSON.stringify(live));
    expect(readRunningRecords(home)).toEqual([live]);
  });

  it('cannot be where a file is, and are then none', () => {
    writeFileSync(join(home, '.svc'), '');
    expect(() => writeRunningRecord(home, live)).toThrow(expect.objectContaining({ code: 'E-IO-001' }));
    expect(readRunningRecords(home)).toEqual([]);
  });
});
