import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';

const capsule = useCapsules();

describe('the workdir of --workdir', () => {
  it.each(['.', '..', '/'])(
    'is refused when it is %s: the agent could alter the manifest and the trace',
    async (workdir) => {
      const workspace = capsule({ files: taskFile });
      const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', workdir]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-RUN-029\]: the workdir .* holds the workspace itself/);
    },
  );

  it('is itself the accessible workdir', async () => {
    const workspace = capsule({ files: taskFile });
    expect((await svc(workspace, ['run', '--workdir', 'work'])).code).toBe(0);
    expect(readFileSync(join(workspace.folder, 'work', 'out', 'result.txt'), 'utf8')).toBe('Done.');
  });
});
