import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

import { PipePool, helperPipes } from '../../src/pipe-pool.ts';
import { startProcess } from '../../src/start-process.ts';
import { helperPath } from './support/helper.ts';
import { needs } from './support/needs.ts';

/** What each of this process's pipes is, once for every descriptor of it. */
function openPipes(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`);
      return target.startsWith('pipe:') ? [target] : [];
    } catch (error) {
      // The one that lists them is gone.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return [];
    }
  });
}

async function ended(args: readonly string[], closed: 0 | null = null): Promise<{ code: unknown; stderr: string }> {
  const through = closed === null ? [] : ['-c', 'exec "$@" <&-', 'sh', helperPath()];
  const child = spawn(closed === null ? helperPath() : '/bin/sh', [...through, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.resume();
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close') as Promise<[unknown]>]);
  return { code, stderr };
}

describe('pipes from the helper', () => {
  it('work by themselves, and end when their writers do', async (context) => {
    needs(context);
    const made = await helperPipes(helperPath()).make();
    expect(made).toHaveLength(64);
    const texts = made.map(async (readEnd, index) => {
      const writeEnd = openSync(`/proc/self/fd/${readEnd}`, 'w');
      writeFileSync(writeEnd, `${index}`);
      closeSync(writeEnd);
      return await text(new Socket({ fd: readEnd, readable: true, writable: false }));
    });
    expect(await Promise.all(texts)).toEqual(Array.from({ length: 64 }, (_, index) => `${index}`));
  });

  it('stay open until its input is closed', async (context) => {
    needs(context);
    const child = spawn(helperPath(), ['pipes', '2'], { stdio: ['pipe', 'pipe', 'ignore'] });
    expect(String((await once(child.stdout, 'data'))[0])).toBe('\n');
    const targets = [3, 4, 5, 6].map((descriptor) => readlinkSync(`/proc/${child.pid}/fd/${descriptor}`));
    expect([targets[0] === targets[1], targets[2] === targets[3], targets[0] === targets[2]]).toEqual([
      true,
      true,
      false,
    ]);
    expect(readdirSync(`/proc/${child.pid}/fd`)).toHaveLength(7);
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it.for(['0', '257', '01', '-1', '2x', ''])('fail when %j are asked for', async (count, context) => {
    needs(context);
    expect(await ended(['pipes', count])).toEqual({ code: 125, stderr: 'call 22 not a number of pipes\n' });
  });

  it('fail where they would become standard streams', async (context) => {
    needs(context);
    expect(await ended(['pipes', '2'], 0)).toEqual({
      code: 125,
      stderr: 'descriptors 9 0, 1 or 2 is not open\n',
    });
  });

  it.for(['null', 'pipe'] as const)(
    'leave no descriptor open here after a launch, input %s',
    async (stdin, context) => {
      needs(context);
      const before = openPipes();
      const pool = new PipePool(helperPipes(helperPath()));
      for (const program of ['/bin/cat', '/nowhere/cat']) {
        const start = { program, args: [], cwd: '/', env: {}, others: [], pipes: pool, drainMs: 1000 };
        const started = await startProcess({ stdin }, start);
        if (started.kind === 'refused') continue;
        started.process.stdin?.end('in');
        expect(await text(started.process.stdout)).toBe(stdin === 'pipe' ? 'in' : '');
        await started.process.ended;
      }
      await pool.close();
      await expect.poll(() => openPipes().filter((pipe) => !before.includes(pipe))).toEqual([]);
    },
  );
});
