import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { openScopeDirectory } from '@svc/record/sessions/session-directories.ts';
import { readChildReport } from '../../src/delegation/completions.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { openAgentDirectory } from '@svc/kit/files/agent-directory.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const writerProgram = fileURLToPath(new URL('../../../../test/support/swap-writer.mjs', import.meta.url));

const rounds = 5000;
/** More are only done until both a look at the directory and a look at the link have been met. */
const maxRounds = 200_000;

const ids = { delegationId: 'dlg_1', sessionId: 'ses_1' };
const report = {
  delegation_id: 'dlg_1',
  session_id: 'ses_1',
  reported_by: 'child',
  status: 'ok',
  duration_ms: 3,
  delivery_error: 'of elsewhere',
};

let root: string;
let child: string;
eachFolder('svc-race-', (made) => {
  root = made;
  child = join(root, 'work/.svc/children/c');
  mkdirSync(child, { recursive: true });
  for (const place of ['', 'c', 'children/c']) {
    mkdirSync(join(root, 'elsewhere', place), { recursive: true });
    writeFileSync(join(root, 'elsewhere', place, 'completion.json'), JSON.stringify(report));
  }
});

/** Whether the directory was met. */
function writeOnce(): boolean {
  try {
    const directory = openAgentDirectory(child, null);
    writeFileSync(directory.entry('written'), 'text');
    directory.close();
    const scope = openScopeDirectory(child, 'scope');
    writeFileSync(join(scope.path, 'written'), 'text');
    scope.close();
    return true;
  } catch (error) {
    if (!(error instanceof Diagnostic) && !isSystemError(error)) throw error;
    return false;
  }
}

describe.skipIf(!existsSync('/proc/self/fd'))('the directory of a child (skipped without /proc)', () => {
  it.each(['.svc/children/c', '.svc/children', '.svc'])(
    'keeps its place when a link takes turns with it at %s without a pause [D2-DIR-05]',
    async (part) => {
      const before = readdirSync(join(root, 'elsewhere'), { recursive: true, encoding: 'utf8' }).sort();
      const link = join(root, 'link');
      symlinkSync(join(root, 'elsewhere'), link);
      const words = [writerProgram, join(root, 'work', part), link, join(root, 'away')];
      const writer = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
      onTestFinished(() => void writer.kill('SIGKILL'));
      const [ready] = (await once(writer.stdout, 'data')) as [Buffer];
      expect(ready.toString()).toBe('ready\n');
      const met = { directory: 0, link: 0 };
      for (let round = 0; round < maxRounds; round += 1) {
        if (round >= rounds && met.directory > 0 && met.link > 0) break;
        met[writeOnce() ? 'directory' : 'link'] += 1;
        expect(readChildReport(child, ids)).toBeNull();
      }
      writer.stdin.end();
      expect(Number(await text(writer.stdout))).toBeGreaterThan(0);
      expect(met.directory).toBeGreaterThan(0);
      expect(met.link).toBeGreaterThan(0);
      expect(readdirSync(join(root, 'elsewhere'), { recursive: true, encoding: 'utf8' }).sort()).toEqual(before);
    },
  );
});
