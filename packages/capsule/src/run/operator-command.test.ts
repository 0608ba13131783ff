import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { commandTarget } from './operator-command.ts';

const body = Buffer.from('{"type":"task.ended"}');

/** A home with a program, and what becomes of a notification that it gets. */
function told(script: string) {
  const home = mkdtempSync(join(tmpdir(), 'svc-operator-command-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const clock = new FakeClock();
  mkdirSync(join(home, 'bin'));
  mkdirSync(join(home, 'work'));
  writeFileSync(join(home, 'bin', 'told'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const stop = new AbortController();
  const send = async (command: readonly string[], path = join(home, 'bin')) => {
    const env = { PATH: `${path}:/usr/bin:/bin`, HOME: home, SECRET: 'x' };
    const target = commandTarget({ command, home, env, written: [join(home, 'work')], clock });
    return await target.send({}, body, stop.signal);
  };
  return { home, clock, abort: () => stop.abort(), send };
}

async function linesOf(file: string): Promise<readonly string[]> {
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n')).toBe(true);
  return readFileSync(file, 'utf8').trim().split('\n');
}

/** Whether a process runs; one that nobody has waited for does not. */
function runs(pid: string): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('the program of an operator', () => {
  it('gets the notification on its standard input, in the home and with no other variable', async () => {
    const { home, send } = told('cat >body; pwd >where; env >env; echo seen; exit 0');
    expect(await send(['told', 'a b'])).toEqual({ kind: 'taken' });
    expect(readFileSync(join(home, 'body'), 'utf8')).toBe(body.toString());
    expect(readFileSync(join(home, 'where'), 'utf8')).toBe(`${home}\n`);
    expect(readFileSync(join(home, 'env'), 'utf8')).not.toContain('SECRET');
  });

  it('has failed where it is not there or ends with another code than 0', async () => {
    const { home, send } = told('exit 7');
    expect(await send(['told'])).toEqual({ kind: 'failed', why: 'it ended with 7' });
    expect(await send(['not-there'])).toEqual({ kind: 'failed', why: 'no such command' });
    writeFileSync(join(home, 'bin', 'broken'), '#!/not/there\n', { mode: 0o755 });
    expect(await send(['broken'])).toMatchObject({ kind: 'failed' });
  });

  it.each([
    ['after ten seconds', 'it ran for 10 s'],
    ['when the session ends', 'the session ended'],
  ])('takes all that it started with it %s', async (when, why) => {
    const { home, clock, abort, send } = told('trap "" TERM; sleep 600 & echo "$$ $!" >pids; wait');
    const sent = send(['told']);
    const [pids = ''] = await linesOf(join(home, 'pids'));
    expect(pids.split(' ').map(runs)).toEqual([true, true]);
    if (when === 'after ten seconds') clock.advance(10_000);
    else abort();
    expect(await sent).toEqual({ kind: 'failed', why });
    await expect.poll(() => pids.split(' ').map(runs)).toEqual([false, false]);
  });

  it('leaves nothing of its group running when it ends', async () => {
    const { home, send } = told('sleep 600 >/dev/null & echo $! >pids; exit 0');
    expect(await send(['told'])).toEqual({ kind: 'taken' });
    const [pid = ''] = await linesOf(join(home, 'pids'));
    await expect.poll(() => runs(pid)).toBe(false);
  });

  it('does not run from a folder that the capsule writes to, nor from a link or with a script there', async () => {
    const { home, send } = told('exit 0');
    const planted = join(home, 'work', 'told');
    writeFileSync(planted, `#!/bin/sh\ntouch ${home}/ran\n`, { mode: 0o755 });
    symlinkSync(planted, join(home, 'bin', 'linked'));
    const refused = { kind: 'failed', why: expect.stringContaining('the capsule may write to') };
    expect(await send(['told'], join(home, 'work'))).toEqual(refused);
    expect(await send(['linked'])).toEqual(refused);
    expect(await send(['sh', planted])).toEqual(refused);
    expect(existsSync(join(home, 'ran'))).toBe(false);
  });
});
