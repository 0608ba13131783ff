import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { isAlive, processStart, processStat } from './process-stat.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

let folder: string;
eachFolder('svc-stat-', (made) => {
  folder = made;
});

describe.skipIf(!existsSync('/proc/self/stat'))('the stat file of a process (skipped without /proc)', () => {
  it('has its state, its parent and its start, whatever the process calls itself', async () => {
    const program = join(folder, ') Z 1 (');
    symlinkSync(process.execPath, program);
    const child = spawn(program, ['-e', 'console.log(1); setInterval(() => {}, 1000)'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      await once(child.stdout, 'data');
      const [state, parent] = processStat(child.pid ?? 0);
      expect(state).toMatch(/^[RSD]$/);
      expect(parent).toBe(String(process.pid));
      expect(processStart(child.pid ?? 0)).toMatch(/^\d+$/);
      expect(Number(processStart(child.pid ?? 0))).toBeGreaterThanOrEqual(Number(processStart(process.pid)));
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('distinguishes it from another that has its number', () => {
    expect(isAlive(process.pid, processStart(process.pid))).toBe(true);
    expect(isAlive(process.pid, '1')).toBe(false);
  });
});

describe('a process', () => {
  it('lives where nothing is known of its start', () => {
    expect(isAlive(process.pid, null)).toBe(true);
  });

  it('stops being alive once it has ended, and nothing is known of it', async () => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
    await once(child, 'exit');
    expect(isAlive(child.pid ?? 0, null)).toBe(false);
    expect(processStat(child.pid ?? 0)).toEqual([]);
    expect(processStart(child.pid ?? 0)).toBeNull();
  });
});
