import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { onlySession } from '../support/capsule-folders.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';

const turns = 200;

it('a journal of 200 turns whose tools answer 4 KB is at most 1.2 times its texts', async () => {
  const looks = Array.from({ length: turns }, (_, turn) =>
    calls([
      [
        `call_${turn}`,
        'sh',
        { command: `yes 'line ${turn} of a file, as a tool reads it for the model' | head -c 4000` },
      ],
    ]),
  );
  const workspace = scriptCapsule({
    manifest: `  max_turns: ${turns + 1}\nlifecycle: { task_acceptance: single }\ncapabilities: { shell: { allow: [sh] } }\n`,
    script: script(...looks, says('Done.')),
  });
  onTestFinished(() => workspace.remove());
  expect(await svc(workspace, ['run', '--task', 'Look.'])).toMatchObject({ code: 0 });
  const session = join(workspace.folder, '.svc', 'sessions', onlySession(workspace));
  const journal = readFileSync(join(session, 'journal.jsonl'), 'utf8');
  const records = journal
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly k: string; readonly port?: string; readonly bytes?: number });
  expect(records.filter(({ k, port }) => k === 'start' && port === 'model')).toHaveLength(turns + 1);
  const texts = records.reduce((sum, { k, bytes }) => sum + (k === 'body' ? (bytes ?? 0) : 0), 0);
  expect(Buffer.byteLength(journal) / texts).toBeLessThan(1.2);
}, 120_000);
