import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { LogBudget } from '@svc/kit/log-budget.ts';
import { HookLogs } from './hook-files.ts';

let session = '';
beforeEach(() => (session = mkdtempSync(join(tmpdir(), 'svc-hook-logs-'))));
afterEach(() => rmSync(session, { recursive: true }));

const withoutSecret = (text: string): string => text.replaceAll('sk-123456', '[secret]');

function logged(): string {
  return readFileSync(join(session, 'logs', 'hook-a.log'), 'utf8');
}

describe('what hooks write', () => {
  it('goes into one file for each hook, which the owner alone can read', () => {
    const logs = new HookLogs(session, withoutSecret, new LogBudget());
    logs.append('a', Buffer.from('one\n'));
    logs.append('b', Buffer.from('two\n'));
    logs.append('a', Buffer.from('three\n'));
    logs.close();
    expect(readdirSync(join(session, 'logs')).toSorted()).toEqual(['hook-a.log', 'hook-b.log']);
    expect(readFileSync(join(session, 'logs', 'hook-a.log'), 'utf8')).toBe('one\nthree\n');
    expect(statSync(join(session, 'logs', 'hook-b.log')).mode & 0o777).toBe(0o600);
  });

  it('fills at most 4 MiB of its file', () => {
    const logs = new HookLogs(session, withoutSecret, new LogBudget());
    for (let count = 0; count < 5; count += 1) logs.append('a', Buffer.alloc(1024 * 1024 + 1, 'x'));
    logs.append('a', Buffer.from('late'));
    logs.close();
    expect(statSync(join(session, 'logs', 'hook-a.log')).size).toBe(4 * 1024 * 1024);
  });

  it('fills at most what all logs of the session may hold', () => {
    const logs = new HookLogs(session, withoutSecret, new LogBudget(10));
    logs.append('a', Buffer.from('one two\n'));
    logs.append('b', Buffer.from('three four\n'));
    logs.close();
    const kept = ['a', 'b'].map((name) => readFileSync(join(session, 'logs', `hook-${name}.log`), 'utf8'));
    expect(kept).toEqual(['one two\n', 'th']);
  });

  it('disappears where no file can take it', () => {
    writeFileSync(join(session, 'logs'), 'in the way');
    const logs = new HookLogs(session, withoutSecret, new LogBudget());
    for (const text of ['one', 'two']) logs.append('a', Buffer.from(text));
    logs.close();
    expect(readdirSync(session)).toEqual(['logs']);
  });

  it('goes into the file without the secrets, also when one comes in pieces', () => {
    const logs = new HookLogs(session, withoutSecret, new LogBudget());
    for (const piece of ['a sk-1', '23', '456 b\n', 'sk-123456\nrest sk-123', '456'])
      logs.append('a', Buffer.from(piece));
    expect(logged()).toBe('a [secret] b\n[secret]\n');
    logs.close();
    expect(logged()).toBe('a [secret] b\n[secret]\nrest [secret]');
  });

  it('goes into the file without a secret in the middle of an endless line', () => {
    const logs = new HookLogs(session, withoutSecret, new LogBudget());
    const line = `${'x'.repeat(65_530)}sk-123456${'y'.repeat(70_000)}`;
    for (let at = 0; at < line.length; at += 4096) logs.append('a', Buffer.from(line.slice(at, at + 4096)));
    expect(logged().length).toBeGreaterThan(60_000);
    logs.close();
    expect(logged()).toBe(withoutSecret(line));
  });

  it('goes into the file byte for byte where it is not text', () => {
    const logs = new HookLogs(session, withoutSecret, new LogBudget());
    logs.append('a', Buffer.from([0xff, 0x00, 0x0a, 0xc3]));
    logs.close();
    expect([...readFileSync(join(session, 'logs', 'hook-a.log'))]).toEqual([0xff, 0x00, 0x0a, 0xc3]);
  });
});
