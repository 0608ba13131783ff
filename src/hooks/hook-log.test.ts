import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { HookLogs } from './hook-log.ts';

let session = '';
beforeEach(() => (session = mkdtempSync(join(tmpdir(), 'svc-hook-logs-'))));
afterEach(() => rmSync(session, { recursive: true }));

describe('what hooks write', () => {
  it('is kept apart for each, for the owner alone', () => {
    const logs = new HookLogs(session);
    logs.append('a', Buffer.from('one\n'));
    logs.append('b', Buffer.from('two\n'));
    logs.append('a', Buffer.from('three\n'));
    logs.close();
    expect(readdirSync(join(session, 'logs')).toSorted()).toEqual(['hook-a.log', 'hook-b.log']);
    expect(readFileSync(join(session, 'logs', 'hook-a.log'), 'utf8')).toBe('one\nthree\n');
    expect(statSync(join(session, 'logs', 'hook-b.log')).mode & 0o777).toBe(0o600);
  });

  it('is kept to its first 4 MiB', () => {
    const logs = new HookLogs(session);
    for (let count = 0; count < 5; count += 1) logs.append('a', Buffer.alloc(1024 * 1024 + 1, 'x'));
    logs.append('a', Buffer.from('late'));
    logs.close();
    expect(statSync(join(session, 'logs', 'hook-a.log')).size).toBe(4 * 1024 * 1024);
  });

  it('is dropped where it cannot be kept', () => {
    writeFileSync(join(session, 'logs'), 'in the way');
    const logs = new HookLogs(session);
    for (const text of ['one', 'two']) logs.append('a', Buffer.from(text));
    logs.close();
    expect(readdirSync(session)).toEqual(['logs']);
  });
});
