import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import { scriptCapsule } from '../support/script-capsule.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const workspaces: Workspace[] = [];
afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

const grants = `capabilities:
  shell: { allow: [sh, no-such-program] }
  network: { allow: [model.test] }
`;

function capsule(manifest = grants): Workspace {
  const workspace = scriptCapsule({ manifest });
  workspaces.push(workspace);
  return workspace;
}

async function run(workspace: Workspace, env?: Record<string, string>): Promise<SvcEnd> {
  return await svc(workspace, ['run', '--json', '--task', 'Go.'], env === undefined ? {} : { env });
}

const keptIn = ({ home }: Workspace): string => join(home, '.svc/cache/manifests');

/** Changes what is kept, which only a start that takes it can show. */
function setVersion(workspace: Workspace): string {
  const path = join(keptIn(workspace), readdirSync(keptIn(workspace))[0]!);
  const kept = JSON.parse(readFileSync(path, 'utf8')) as { manifest: { version: string } };
  kept.manifest.version = '9.9.9';
  writeFileSync(path, JSON.stringify(kept));
  return path;
}

const versionIn = ({ stdout }: SvcEnd): unknown => (JSON.parse(stdout) as { version: unknown }).version;

describe('a start of a manifest that was checked before', () => {
  it('takes what was kept, and warns the same of what the manifest says', async () => {
    const workspace = capsule();
    const { code, stderr } = await run(workspace);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/W-RUN-003[^]*svc\.yaml:9:\d+\n/)]);
    expect(await run(workspace)).toMatchObject({ code: 0, stderr });
    setVersion(workspace);
    expect(versionIn(await run(workspace))).toBe('9.9.9');
  });

  it('reads a manifest anew that was changed, and one that others may have written', async () => {
    const workspace = capsule();
    await run(workspace);
    const path = setVersion(workspace);
    chmodSync(path, 0o666);
    expect(versionIn(await run(workspace))).toBe('1.2.3');
    setVersion(workspace);
    workspace.write('svc.yaml', `${readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')}# changed\n`);
    expect(versionIn(await run(workspace))).toBe('1.2.3');
  });

  it('keeps nothing beside the manifest, where it could have come with it', async () => {
    const workspace = capsule();
    await run(workspace);
    expect(existsSync(join(workspace.folder, '.svc/cache'))).toBe(false);
    expect(readdirSync(keptIn(workspace)).length).toBe(1);
  });

  it('reports as its scope what the file says, and not what was stored', async () => {
    const workspace = capsule();
    await run(workspace);
    const path = setVersion(workspace);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"no-such-program"', '"cat"'));
    const { stdout } = await svc(workspace, ['run', '--explain-scope', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ shell_allow: ['sh', 'no-such-program'] });
  });

  it('starts where nothing can be kept', async () => {
    const workspace = capsule();
    workspace.write('home/.svc/cache', 'a file in the way');
    expect(await run(workspace, { HOME: join(workspace.folder, 'home') })).toMatchObject({ code: 0 });
  });
});
