import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { scriptCapsule } from '../support/script-capsule.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const workspaces: Workspace[] = [];

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

function capsule(config: string | null, manifest = ''): Workspace {
  const files = config === null ? {} : { '.svc/config.yaml': config };
  const workspace = scriptCapsule({ manifest, files });
  workspaces.push(workspace);
  return workspace;
}

async function run(workspace: Workspace, ...args: readonly string[]): Promise<SvcEnd> {
  return await svc(workspace, ['run', '--task', 'Go.', ...args]);
}

/** What the only session of a workspace kept. */
function kept({ folder }: Workspace): string {
  const sessions = join(folder, '.svc', 'sessions');
  const [id = ''] = readdirSync(sessions);
  const journal = join(sessions, id, 'journal.jsonl');
  if (!existsSync(journal)) return 'none';
  const text = readFileSync(journal, 'utf8');
  const { capture } = JSON.parse(text.slice(0, text.indexOf('\n'))) as { capture: string };
  return `${capture}, ${text.includes('"data":') ? 'with' : 'without'} texts`;
}

describe('trace.capture of a workspace', () => {
  it.each([
    ['meta', 'meta, without texts', 'trace: { capture: content }\n', [], 'trace.capture of the manifest'],
    ['meta', 'meta, without texts', '', ['--capture', 'content'], '--capture'],
    ['none', 'none', 'trace: { capture: content }\n', [], 'trace.capture of the manifest'],
  ])('limits sessions to %s, and says so', async (ceiling, expected, manifest, args, whose) => {
    const workspace = capsule(`trace: { capture: ${ceiling} }\n`, manifest);
    const { code, stderr } = await run(workspace, ...args);
    expect(code).toBe(0);
    expect(stderr).toBe(
      `warning[W-RUN-062]: the journal keeps ${ceiling}, not content as ${whose} asks: .svc/config.yaml allows no more\n`,
    );
    expect(kept(workspace)).toBe(expected);
  });

  it.each([
    ['content', 'content, with texts', ['--capture', 'content']],
    ['content', 'none', ['--capture', 'none']],
    ['meta', 'meta, without texts', ['--capture', 'meta']],
  ])('has, at %s, nothing to say to a session that keeps %s', async (ceiling, expected, args) => {
    const workspace = capsule(`trace: { capture: ${ceiling} }\n`);
    expect(await run(workspace, ...args)).toMatchObject({ code: 0, stderr: '' });
    expect(kept(workspace)).toBe(expected);
  });

  it.each([
    ['trace: { capture: all }\n', 'error[E-MAN-003]: trace.capture must be one of none, meta, content, not "all"'],
    ['trace: {}\n', 'error[E-MAN-001]: trace.capture is missing'],
    ['trace: [\n', 'error[E-MAN-002]: '],
  ])('stops the run when it is wrong: %j', async (config, message) => {
    const workspace = capsule(config);
    const { code, stdout, stderr } = await run(workspace);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(readdirSync(join(workspace.folder, '.svc'))).toEqual(['config.yaml']);
  });

  it('stops the run when it cannot be read', async () => {
    const workspace = capsule(null);
    mkdirSync(join(workspace.folder, '.svc', 'config.yaml'), { recursive: true });
    const { code, stderr } = await run(workspace);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error\[E-IO-001\]: /);
    expect(readdirSync(join(workspace.folder, '.svc'))).toEqual(['config.yaml']);
  });
});
