import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { processStart } from '@svc/kit/process-stat.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { liveRecord } from '../../../../test/support/running-record.ts';
import { replacementContract } from '../../../../test/support/replacement-contract.ts';
import { listRunning, readRunningRecords, writeRunningRecord } from './running-record.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let home: string;
let directory: string;

eachFolder('svc-running-', (made) => {
  home = made;
  directory = join(home, '.svc', 'running');
});

const live = liveRecord();

describe('the records of running sessions', () => {
  replacementContract('as one of them', {
    path: `.svc/running/${live.session_id}.${live.pid}.json`,
    mode: 0o600,
    write: (place, variant) => void writeRunningRecord(place, { ...live, name: variant }),
  });

  it('stay until svc removes them', () => {
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

  it('leave alone those of another container or machine until they are not touched for a day, and do not show them', () => {
    const clock = new FakeClock();
    const forget = listRunning(home, live, clock);
    const path = join(directory, `${live.session_id}.${live.pid}.json`);
    const written = JSON.parse(readFileSync(path, 'utf8')) as object;
    const places = [{ boot: 'another machine' }, { pid_space: 'pid:[1]' }];
    for (const [index, place] of places.entries()) {
      const other = { ...written, pid: 2 ** 22 + 1, process_start: '1', ...place };
      writeFileSync(join(directory, `other-${index}.json`), JSON.stringify(other));
    }
    const touched = (hoursAgo: number): void => {
      const at = Date.now() / 1000 - hoursAgo * 3600;
      utimesSync(join(directory, 'other-0.json'), at, at);
    };
    touched(23);
    expect(readRunningRecords(home)).toEqual([live]);
    expect(readdirSync(directory)).toHaveLength(3);
    touched(25);
    expect(readRunningRecords(home)).toEqual([live]);
    expect(readdirSync(directory)).toHaveLength(2);
    // Its own is touched each hour.
    clock.advance(3_600_000);
    expect(statSync(path).mtimeMs).toBe(clock.now());
    forget();
    clock.advance(3_600_000);
    expect(existsSync(path)).toBe(false);
  });

  it('count as records of this host when an older version wrote them without a place', () => {
    writeRunningRecord(home, live);
    const path = join(directory, `${live.session_id}.${live.pid}.json`);
    writeFileSync(path, JSON.stringify(live));
    expect(readRunningRecords(home)).toEqual([live]);
    writeFileSync(path, JSON.stringify({ ...live, process_start: '1' }));
    expect(readRunningRecords(home)).toEqual([]);
    expect(existsSync(path)).toBe(false);
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
