import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';

const capsule = useCapsules();

describe('the logs of a session', () => {
  it('hold 256 MiB together, whatever commands print, and the trace says when', async () => {
    const prints = runs('head -c 60000000 /dev/zero; head -c 60000000 /dev/zero >&2');
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: script(prints, prints, prints, says('Done.')),
      files: { 'task.md': 'Go.\n' },
    });
    expect((await svc(workspace, ['run'])).code).toBe(0);
    const session = onlySession(workspace);
    const logs = join(workspace.folder, '.svc/sessions', session, 'logs');
    const sizes = readdirSync(logs).map((name) => statSync(join(logs, name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(268_435_456);
    const reached = readTrace(tracePath(workspace, session)).filter(
      ({ event_type: type }) => type === 'logs_limit_reached',
    );
    expect(reached).toMatchObject([{ max_bytes: 268_435_456 }]);
  }, 120_000);
});
