import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { describe, expect, it } from 'vitest';

import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import { createDirectLauncher } from '@svc/sandbox/direct-launcher.ts';
import type { LaunchedProcess } from '@svc/sandbox/launcher.ts';
import { type ProgramOwner, ProgramLogs } from './program-logs.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder: string;
let session: string;

eachFolder('svc-program-logs-', (made) => {
  folder = made;
  session = join(folder, 'session');
  mkdirSync(session);
});

function keptLogs(budget = new LogBudget()): ProgramLogs {
  const redactor = new Redactor();
  redactor.register(new Secret('sk-123456'));
  return new ProgramLogs({ sessionDirectory: session, redactor, budget });
}

/** A Node program that has begun. */
async function start(logs: ProgramLogs, owner: ProgramOwner, code: string): Promise<LaunchedProcess> {
  const launcher = logs.keeping(createDirectLauncher({ cwd: folder, drainMs: 100 }), owner);
  const outcome = await launcher.launch({
    command: process.execPath,
    args: ['-e', code],
    env: { PATH: '/usr/bin:/bin' },
    stdin: 'pipe',
  });
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  outcome.process.stdout.resume();
  return outcome.process;
}

/** Runs a program to its end and returns what its starter reads of its standard error. */
async function run(logs: ProgramLogs, owner: ProgramOwner, code: string): Promise<string> {
  const launched = await start(logs, owner, code);
  const [said] = await Promise.all([text(launched.stderr), launched.ended]);
  return said;
}

const logOf = (owner: ProgramOwner): string => join(session, 'logs', `stderr-${owner}.log`);
const logged = (owner: ProgramOwner): string => readFileSync(logOf(owner), 'utf8');

describe('the standard error of programs', () => {
  it('goes into one file for all programs of an owner, for the user alone, and reads as before', async () => {
    const logs = keptLogs();
    expect(await run(logs, 'tool-a', 'console.error("one")')).toBe('one\n');
    expect(await run(logs, 'tool-a', 'console.error("two"); process.stderr.write("half"); process.exit(3)')).toBe(
      'two\nhalf',
    );
    await run(logs, 'tool-a', 'console.error("again")');
    await run(logs, 'driver', 'console.error("three"); process.kill(process.pid, "SIGKILL")');
    await run(logs, 'mcp-a', 'console.error("four")');
    logs.close();
    expect(readdirSync(join(session, 'logs')).toSorted()).toEqual([
      'stderr-driver.log',
      'stderr-mcp-a.log',
      'stderr-tool-a.log',
    ]);
    expect([logged('tool-a'), logged('driver'), logged('mcp-a')]).toEqual([
      'one\ntwo\nhalf\nagain\n',
      'three\n',
      'four\n',
    ]);
    expect(statSync(logOf('driver')).mode & 0o777).toBe(0o600);
    expect(statSync(join(session, 'logs')).mode & 0o777).toBe(0o700);
  });

  it('costs nothing while nothing is said', async () => {
    const budget = new LogBudget(1);
    const logs = keptLogs(budget);
    expect(await run(logs, 'driver', 'console.log("well")')).toBe('');
    logs.close();
    expect(readdirSync(session)).toEqual([]);
    expect(budget.take(1)).toBe(1);
  });

  it('goes there as it comes, without the secrets, also one that comes byte by byte', async () => {
    const logs = keptLogs();
    const launched = await start(
      logs,
      'driver',
      `const bytes = Buffer.from('the key is sk-123456\\nnot sk-12\\n');
       let at = 0;
       const next = () => at < bytes.length && process.stderr.write(bytes.subarray(at, (at += 1)), () => setImmediate(next));
       next();
       process.stdin.once('data', () => process.stderr.write('sk-123', () => process.stderr.write('456', () => process.exit())));`,
    );
    const said = text(launched.stderr);
    await expect
      .poll(() => existsSync(logOf('driver')) && logged('driver'), { timeout: 20_000 })
      .toBe('the key is [secret]\nnot sk-12\n');
    launched.stdin?.write('go on\n');
    expect(await said).toBe('the key is sk-123456\nnot sk-12\nsk-123456');
    logs.close();
    expect(logged('driver')).toBe('the key is [secret]\nnot sk-12\n[secret]');
  });

  it('stays whole where it is a megabyte without a line feed, with bytes that are no text', async () => {
    const logs = keptLogs();
    const code = `process.stderr.write(Buffer.concat([Buffer.alloc(1048576, 'x'), Buffer.from([0xff, 0xc3, 0x00, 0x1b])]))`;
    expect((await run(logs, 'mcp-a', code)).length).toBe(1_048_580);
    logs.close();
    const bytes = readFileSync(logOf('mcp-a'));
    expect(bytes.subarray(0, 1_048_576).equals(Buffer.alloc(1_048_576, 'x'))).toBe(true);
    expect([...bytes.subarray(1_048_576)]).toEqual([0xff, 0xc3, 0x00, 0x1b]);
  });

  it('keeps its first 16 MiB, and counts what is missing', async () => {
    const logs = keptLogs();
    const code = `process.stderr.write('x'.repeat(20 * 1024 * 1024)); process.stderr.write('\\nmore\\n')`;
    expect((await run(logs, 'tool-a', code)).length).toBe(20_971_526);
    logs.close();
    const kept = logged('tool-a');
    expect(kept.slice(0, 16_777_216) === 'x'.repeat(16_777_216)).toBe(true);
    expect(kept.slice(16_777_216)).toBe(
      '\n[svc: from here on nothing is kept: a log of standard error holds 16777216 bytes at most]\n[svc: 4194310 bytes were not kept]\n',
    );
  });

  it('keeps at most what all logs of the session may hold, and counts what is missing', async () => {
    let told = 0;
    const budget = new LogBudget(300);
    budget.observe(() => (told += 1));
    const logs = keptLogs(budget);
    await run(logs, 'mcp-a', `console.error('a'.repeat(29)); console.error('b'.repeat(29))`);
    await run(logs, 'driver', `console.error('none of it')`);
    expect(told).toBe(1);
    logs.close();
    expect(readdirSync(join(session, 'logs'))).toEqual(['stderr-mcp-a.log']);
    expect(logged('mcp-a')).toBe(
      `${'a'.repeat(29)}\n${'b'.repeat(14)}\n[svc: from here on nothing is kept: all logs of a session hold 300 bytes at most]\n[svc: 16 bytes were not kept]\n`,
    );
  });

  it.each([
    [
      'the file',
      (elsewhere: string) => {
        mkdirSync(join(session, 'logs'));
        symlinkSync(join(elsewhere, 'target'), logOf('driver'));
      },
    ],
    ['the folder of the logs', (elsewhere: string) => symlinkSync(elsewhere, join(session, 'logs'))],
    [
      'the folder of the session',
      (elsewhere: string) => {
        renameSync(session, join(folder, 'moved'));
        symlinkSync(elsewhere, session);
      },
    ],
  ])('never goes through a link in the place of %s', async (_place, plant) => {
    const logs = keptLogs();
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    plant(elsewhere);
    expect(await run(logs, 'driver', 'console.error("one")')).toBe('one\n');
    logs.close();
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('goes nowhere once the logs are closed', async () => {
    const logs = keptLogs();
    const launched = await start(
      logs,
      'driver',
      `console.error('before'); process.stdin.once('data', () => { console.error('after'); process.exit(); })`,
    );
    const said = text(launched.stderr);
    await expect.poll(() => existsSync(logOf('driver')) && logged('driver'), { timeout: 20_000 }).toBe('before\n');
    logs.close();
    launched.stdin?.write('go on\n');
    expect(await said).toBe('before\nafter\n');
    expect(logged('driver')).toBe('before\n');
  });
});
