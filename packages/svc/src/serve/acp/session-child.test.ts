import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { expect, it, onTestFinished } from 'vitest';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import type { ServedOptions } from '../run-served.ts';
import type { SessionNews } from './channel.ts';
import { SessionChild } from './session-child.ts';

/** Starts a program in the place of `svc`, which is what a session of an editor runs as. */
async function started(
  program: string,
  hears: { readonly onNews: (news: SessionNews) => void; readonly onEnd: (why: string) => void },
): Promise<SessionChild> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-session-child-'));
  const script = join(folder, 'session.mjs');
  writeFileSync(script, program);
  const before = process.argv[1] ?? '';
  process.argv[1] = script;
  onTestFinished(() => {
    process.argv[1] = before;
    rmSync(folder, { recursive: true });
  });
  const context = { cwd: folder, env: process.env, stderr: { write: () => true } } as unknown as CommandContext;
  const output = { follow: () => {}, release: (source: Readable) => void source.resume() };
  const options = { manifest: 'svc.yaml', envFile: true } as ServedOptions;
  return await SessionChild.start({ id: 'a', folder: folder }, options, context, { ...hears, output });
}

it('a session that says more at once than any does ends alone, and hears nothing more', async () => {
  const heard: SessionNews[] = [];
  const ended = new Promise<string>((resolve) => {
    void started(
      `process.stdout.write('{"kind":"ready"}\\n{"kind":"question-over","waitId":"q1"}\\n');
      process.stdin.once('data', () => {
        process.stdout.write('x'.repeat(33 * 1024 * 1024) + '\\n{"kind":"question-over","waitId":"q2"}\\n');
      });`,
      { onNews: (news) => heard.push(news), onEnd: resolve },
    ).then((child) => child.send({ kind: 'cancel' }));
  });
  expect(await ended).toBe('it said more than 33554432 bytes at once');
  expect(heard).toEqual([{ kind: 'question-over', waitId: 'q1' }]);
});
