/** What groups of both versions have in common: files that are there already, and a directory that goes when nobody is in it. */
import { closeSync, constants, openSync, readFileSync, rmdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { killOne } from '../child-group.ts';

export function wordsOf(file: string): readonly string[] {
  return readFileSync(file, 'latin1').split(/\s+/).filter(Boolean);
}

/** These files take a text in one piece, and some of them cannot be read. */
export function writeGroupFile(file: string, text: string): void {
  const descriptor = openSync(file, constants.O_WRONLY);
  try {
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

/** Empty where there is no such file. */
export function readGroupFile(file: string): string {
  return unlessRefused(() => readFileSync(file, 'latin1'), '');
}

/** The number behind a word, as files of events have it; 0 without that word. */
export function countOf(text: string, word: string): number {
  return Number(new RegExp(`^${word} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

const longestRemoval = 100;

/** What is killed takes a moment to be gone, and a group can be removed only then. */
export async function removeGroup(group: string): Promise<void> {
  for (let attempt = 0; attempt < longestRemoval; attempt += 1) {
    endGroup(group);
    if (isDone(() => rmdirSync(group))) return;
    await setTimeout(20);
  }
}

/** Version 1 has no such file, nor have kernels before 5.14: there each process is ended on its own, until none is left. */
function endGroup(group: string): void {
  if (isDone(() => writeGroupFile(join(group, 'cgroup.kill'), '1'))) return;
  // Nobody is started any more meanwhile, where that can be said.
  isDone(() => writeGroupFile(join(group, 'pids.max'), '0'));
  for (const pid of readGroupFile(join(group, 'cgroup.procs')).split('\n').filter(Boolean)) {
    isDone(() => killOne(Number(pid)));
  }
}

/** Whether the system let it be done. */
export function isDone(act: () => void): boolean {
  return unlessRefused(() => {
    act();
    return true;
  }, false);
}
