import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { describe } from 'vitest';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { directoryContract, regularFileContract } from '../../../../test/support/beneath-contract.ts';
import { replacementContract } from '../../../../test/support/replacement-contract.ts';
import { WorkdirFiles } from './workdir-files.ts';
import { WrittenFiles } from './written-files.ts';

const text = 'a task';

/** Whether the workdir holds this very task, so that it may stay. */
function hasTask(workdir: string): boolean {
  const keeper = mkdtempSync(join(tmpdir(), 'svc-keeper-'));
  try {
    const written = new WrittenFiles({ workdir, keepers: [keeper] });
    new WorkdirFiles(workdir, written).claim({ task: text, hasInbox: false });
    // A place that was free is taken.
    return written.at('task.md') === null;
  } catch (error) {
    if (error instanceof DiagnosticList) return false;
    throw error;
  } finally {
    rmSync(keeper, { recursive: true });
  }
}

describe('a task that is there already', () => {
  directoryContract('when looked for', {
    prepare: (workdir, isDecoy) => writeFileSync(join(workdir, 'task.md'), isDecoy ? 'another' : text),
    reach: (workdir) => hasTask(workdir),
  });
  regularFileContract('a look at it', { name: 'task.md', content: text, read: hasTask });
});

describe('what svc has written', () => {
  replacementContract('as it is remembered', {
    path: `workdirs/${sha256Hex('/work')}.json`,
    mode: 0o600,
    write: (keeper, variant) => new WrittenFiles({ workdir: '/work', keepers: [keeper] }).take([variant]),
  });
});
