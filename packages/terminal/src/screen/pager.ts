/** Shows long text a page at a time. */

import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

import type { CommandContext } from './command-context.ts';
import { Shown } from './shown.ts';

const usualRows = 24;

/**
 * Writes text that was laid out for standard output. Text longer than a terminal is high goes through `$PAGER`, or `less -R` where
 * PAGER is not set; a pager that is empty, `cat` or cannot be started changes nothing.
 */
export function writePaged(text: string, { stdout, env }: CommandContext): void {
  const pager = stdout.isTerminal && rowsOf(text) >= heightOf(stdout.stream) ? pagerOf(env) : null;
  if (pager === null || !isShownBy(pager, text, env)) stdout.write(Shown.cleaned(text, 'laid out'));
}

function rowsOf(text: string): number {
  return text.split('\n').length;
}

function heightOf(stream: NodeJS.WritableStream): number {
  return (stream as { readonly rows?: number }).rows ?? usualRows;
}

function pagerOf(env: CommandContext['env']): string | null {
  const { PAGER: wanted } = env;
  if (wanted !== undefined) return wanted === '' || wanted === 'cat' ? null : wanted;
  return isInPath('less', env) ? 'less -R' : null;
}

function isInPath(program: string, { PATH: path = '' }: CommandContext['env']): boolean {
  return path.split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return directory !== '';
    } catch {
      // Not there, or not to be run: the next.
      return false;
    }
  });
}

/** False when nothing of it was shown: the shell found no such program. */
function isShownBy(pager: string, text: string, env: CommandContext['env']): boolean {
  // Ctrl-C is for the pager, which ends by itself.
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  try {
    const { status } = spawnSync('/bin/sh', ['-c', pager], { input: text, stdio: ['pipe', 'inherit', 'inherit'], env });
    return status !== 126 && status !== 127;
  } finally {
    process.off('SIGINT', ignore);
  }
}
