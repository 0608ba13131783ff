/** Does tasks without a manifest, whose model runs commands, and returns what the model read of them. */

import { execFileSync } from 'node:child_process';

import { expect, type TestContext } from 'vitest';

import type { FirstMinute, TaskEnd } from '../support/first-minute.ts';

/** Does a task whose model runs these commands, one a turn; `minute.results` is what it read of them. */
export async function task(
  context: TestContext,
  minute: FirstMinute,
  commands: readonly string[],
  args: readonly string[] = [],
): Promise<TaskEnd> {
  await minute.runs(...commands);
  const end = await minute.svc([...args, 'look around'], {});
  expect({ code: end.code, stdout: end.stdout }, end.stderr).toEqual({ code: 0, stdout: 'Done.\n' });
  if (process.env['REQUIRE_CONTAINMENT'] !== 'sealed')
    context.skip(minute.asked.tools.length === 0, 'needs a host that holds commands');
  return end;
}

/** What a model reads of a command that printed this. */
export function output(stdout: string, stderr = '(empty)', exitCode = 0): string {
  return `exit code: ${exitCode}\nstdout:${stdout === '(empty)' ? ' (empty)' : `\n${stdout}`}\nstderr:${stderr === '(empty)' ? ' (empty)' : `\n${stderr}`}`;
}

/** Results without the line that repeats the command. */
export function told({ results }: FirstMinute): readonly string[] {
  return results.map((result) => result.replace(/^command: [^]*?\n(?=exit code: )/, ''));
}

/** Makes folders with empty files in a folder, and one file that is masked. */
export function fill(folder: string, { folders, filesInEach }: { folders: number; filesInEach: number }): void {
  const makes = `for d in $(seq ${folders}); do mkdir d$d && (cd d$d && seq ${filesInEach} | xargs touch); done`;
  execFileSync('sh', ['-c', `cd "$0" && ${makes} && echo SECRET > .env`, folder]);
}
