import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const workspaces: Workspace[] = [];
afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

const part =
  'export const answer = (text) => console.log(JSON.stringify({ type: "response", response: { content: [{ type: "text", text }], stop_reason: "end_turn" } }));\n';

/** Answers with what it can read of the keys of the workspace. */
const driver = (from: string): string => `import { readFileSync } from 'node:fs';
import { answer } from ${JSON.stringify(from)};
const read = (path) => { try { return readFileSync(path, 'utf8'); } catch (error) { return error.code; } };
process.stdin.once('data', () => answer(read(process.env.KEYS)));
process.stdin.on('end', () => process.exit());
`;

function workspaceOf(command: readonly string[], files: Readonly<Record<string, string>>): Workspace {
  const workspace = makeWorkspace({
    'svc.yaml': `name: named
version: 1.0.0
inference: { transport: process, model: m, command: ${JSON.stringify(command)} }
capabilities: { env: { allow: [KEYS] } }
`,
    'task.md': 'Go.',
    '.env': 'SECRET=of the user\n',
    ...files,
  });
  workspaces.push(workspace);
  return workspace;
}

async function run(workspace: Workspace, ceiling: string): Promise<string> {
  const env = { SVC_CONTAINMENT_CEILING: ceiling, KEYS: join(workspace.folder, '.env') };
  await svc(workspace, ['run'], { env });
  const [session = ''] = readdirSync(join(workspace.folder, 'workdir'));
  return readFileSync(join(workspace.folder, 'workdir', session, 'out/result.txt'), 'utf8');
}

describe('a driver that inference.command names by its file', () => {
  it.each([
    ['advisory', 'SECRET=of the user\n'],
    ['scoped', 'EACCES'],
    ['sealed', 'ENOENT'],
  ])(
    'runs under %s with its package, and reads no keys of the workspace where files are contained',
    async (ceiling, keys) => {
      const workspace = workspaceOf(['node', './driver/driver.mjs'], {
        'driver/package.json': '{}',
        'driver/part.mjs': part,
        'driver/driver.mjs': driver('./part.mjs'),
      });
      expect(await run(workspace, ceiling)).toBe(keys);
    },
  );

  it.each(['scoped', 'sealed'])('fails under %s with the name of a file beside it that is hidden', async (ceiling) => {
    const workspace = workspaceOf(['node', 'driver.mjs'], { 'part.mjs': part, 'driver.mjs': driver('./part.mjs') });
    const hidden = join(workspace.folder, 'part.mjs');
    expect(await run(workspace, ceiling)).toContain(
      `${hidden} is hidden from it: it can read the files that inference.command names, and the package of each`,
    );
  });
});
