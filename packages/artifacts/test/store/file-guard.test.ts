import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { withGuard } from '@svc/kit/files/file-guard.ts';
import { codesOf, temporaryDirectory } from './artifacts.ts';

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

  it('is free again after a failure', async () => {
    const target = join(temporaryDirectory(), 'x');
    await expect(withGuard(target, async () => await Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await withGuard(target, async () => await Promise.resolve('yes'))).toBe('yes');
  });

  it('is taken over from a killed process by one of those that wait', async () => {
    const directory = temporaryDirectory();
    const target = join(directory, 'x');
    writeFileSync(join(directory, '.x.guard'), '');
    const patience = { pauseMs: 1, maxAttempts: 10_000, staleAfterAttempts: 20 };
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

  it('is a coded error when it stays with others', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, '.x.guard'), '');
    const patience = { pauseMs: 1, maxAttempts: 5, staleAfterAttempts: 100 };
    const attempt = withGuard(join(directory, 'x'), async () => await Promise.resolve(), patience);
    expect(await codesOf(attempt)).toEqual(['E-IO-001']);
  });
});
