import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { withGuard } from '@svc/kit/files/file-guard.ts';
import { codesOf, temporaryDirectory } from './artifacts.ts';

const nothing = async (): Promise<void> => await Promise.resolve();

describe('a guard', () => {
  it('lets one at a time run what it guards', async () => {
    const directory = temporaryDirectory();
    const target = join(directory, 'counter');
    writeFileSync(target, '0');
    const increment = async (): Promise<void> => {
      await withGuard(target, async () => {
        const before = Number(readFileSync(target, 'utf8'));
        await new Promise((resolve) => setImmediate(resolve));
        writeFileSync(target, String(before + 1));
      });
    };
    await Promise.all(Array.from({ length: 20 }, increment));
    expect(readFileSync(target, 'utf8')).toBe('20');
    expect(readdirSync(directory)).toEqual(['counter']);
  });

  it('becomes free again after a failure', async () => {
    const target = join(temporaryDirectory(), 'x');
    await expect(withGuard(target, async () => await Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await withGuard(target, async () => await Promise.resolve('yes'))).toBe('yes');
  });

  it('passes from a killed process to one of those that wait', async () => {
    const directory = temporaryDirectory();
    const target = join(directory, 'x');
    writeFileSync(join(directory, '.x.guard'), '');
    const patience = { pauseMs: 1, maxAttempts: 10_000, staleAfterAttempts: 20, touchMs: 1000 };
    let running = 0;
    const bodies = Array.from({ length: 5 }, async () => {
      await withGuard(
        target,
        async () => {
          running += 1;
          expect(running).toBe(1);
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
        },
        patience,
      );
    });
    await Promise.all(bodies);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('stays with who holds it, however long that takes', async () => {
    const target = join(temporaryDirectory(), 'x');
    const patience = { pauseMs: 1, maxAttempts: 600, staleAfterAttempts: 200, touchMs: 5 };
    const others = await withGuard(target, async () => await codesOf(withGuard(target, nothing, patience)), patience);
    expect(others).toEqual(['E-IO-001']);
  });

  it('stays with the process that has taken it over', async () => {
    const directory = temporaryDirectory();
    const target = join(directory, 'x');
    // As a process that was stopped meanwhile.
    const stopped = { pauseMs: 1, maxAttempts: 10_000, staleAfterAttempts: 20, touchMs: 1_000_000 };
    let end = (): void => {};
    const over = new Promise<void>((resolve) => (end = resolve));
    let other: Promise<void> = Promise.resolve();
    await withGuard(
      target,
      async () =>
        await new Promise<void>((taken) => {
          other = withGuard(
            target,
            async () => {
              taken();
              await over;
            },
            stopped,
          );
        }),
      stopped,
    );
    expect(readdirSync(directory)).toEqual(['.x.guard']);
    end();
    await other;
    expect(readdirSync(directory)).toEqual([]);
  });

  it('gives a coded error when it stays with others', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, '.x.guard'), '');
    const patience = { pauseMs: 1, maxAttempts: 5, staleAfterAttempts: 100, touchMs: 1000 };
    const attempt = withGuard(join(directory, 'x'), async () => await Promise.resolve(), patience);
    expect(await codesOf(attempt)).toEqual(['E-IO-001']);
  });
});
