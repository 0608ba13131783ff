import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { calls, oddBehaviour } from '../support/mcp-artifact.ts';
import { playSession } from '../support/mcp-capsule.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
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

describe('a server that the command of a source directory names by its file', () => {
  const server = readFileSync(new URL('../support/odd-server.mjs', import.meta.url), 'utf8');

  const imports = "import './part.mjs';\n";
  const withImport = server.replace(/^#!.*\n/, (first) => `${first}${imports}`);
  const mcp = (...command: readonly string[]): string => `implementation: mcp\ncommand: ${JSON.stringify(command)}\n`;

  /** The directory `srv` is the source of the artifact; nothing less than the class will do. */
  function sourceWorkspace(
    containment: string,
    { kind, tool, files }: { kind: string; tool: string; files: Readonly<Record<string, string>> },
  ): Workspace {
    const workspace = scriptCapsule({
      manifest: `artifacts: [{ name: srv, version: 1.0.0, source: ./srv }]
capabilities: { containment: ${containment}, shell: { allow: [node, cat] } }
`,
      script: calls([tool, { said: 'it runs' }]),
      files: {
        'srv/svc.yaml': `name: srv\nversion: 1.0.0\nruntime: tool\ndescription: Reads.\n${kind}`,
        'work/behaviour.json': oddBehaviour(['echo']),
        ...files,
      },
    });
    workspaces.push(workspace);
    return workspace;
  }

  /** What the model read of its call. */
  async function told(workspace: Workspace, ceiling: string): Promise<string> {
    const { calls: made } = await playSession(workspace, { env: { SVC_CONTAINMENT_CEILING: ceiling } });
    return made.map(({ content }) => content).join('\n');
  }

  async function refusal(workspace: Workspace, ceiling: string): Promise<string> {
    const end = await svc(workspace, ['run', '--task', 'Go.', '--workdir', 'work'], {
      env: { SVC_CONTAINMENT_CEILING: ceiling },
    });
    expect(end).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error\[E-RUN-036\]: the server of srv did not/),
    });
    return end.stderr;
  }

  it.each(['advisory', 'scoped', 'sealed'])('runs where it stands under %s, with its package', async (ceiling) => {
    const files = { 'srv/server.mjs': withImport, 'srv/part.mjs': '', 'srv/package.json': '{}' };
    const kind = mcp('node', './server.mjs', 'behaviour.json');
    expect(await told(sourceWorkspace(ceiling, { kind, tool: 'srv__echo', files }), ceiling)).toContain('it runs');
  });

  it.each(['scoped', 'sealed'])('keeps svc from starting under %s with the name of a hidden file', async (ceiling) => {
    const files = { 'srv/server.mjs': withImport, 'srv/part.mjs': '' };
    const workspace = sourceWorkspace(ceiling, { kind: mcp('node', 'server.mjs'), tool: 'srv__echo', files });
    expect(await refusal(workspace, ceiling)).toContain(
      `${join(workspace.folder, 'srv/part.mjs')} is hidden from it: it can read the files that its command names`,
    );
  });

  it.each(['scoped', 'sealed'])('opens nothing under %s that lies outside of the directory', async (ceiling) => {
    const kind = mcp('node', '../server.mjs');
    const workspace = sourceWorkspace(ceiling, { kind, tool: 'srv__echo', files: { 'server.mjs': server } });
    expect(await refusal(workspace, ceiling)).toMatch(/Cannot find module|permission denied/);
  });

  it.each(['scoped', 'sealed'])('cannot be a native tool: the error names what is hidden under %s', async (ceiling) => {
    const files = { 'srv/bin/srv': 'to be written', 'srv/beside.txt': '' };
    const workspace = sourceWorkspace(ceiling, { kind: 'implementation: native\n', tool: 'srv', files });
    const beside = join(workspace.folder, 'srv/beside.txt');
    const program = join(workspace.folder, 'srv/bin/srv');
    writeFileSync(program, `#!/bin/sh\ncat ${beside}\n`);
    expect(await told(workspace, ceiling)).toContain(`${beside} is hidden from it`);
  });
});

describe('svc run --explain-scope', () => {
  it('lists what inference.command opens, in the text and as command_reads', async () => {
    const workspace = workspaceOf(['node', './driver/driver.mjs'], {
      'driver/package.json': '{}',
      'driver/driver.mjs': '',
    });
    const reads = [join(workspace.folder, 'driver/driver.mjs'), join(workspace.folder, 'driver')];
    const { stdout } = await svc(workspace, ['run', '--explain-scope']);
    expect(stdout).toMatch(new RegExp(`^  command reads: +${reads[0]}\n +${reads[1]}\n`, 'm'));
    const { stdout: line } = await svc(workspace, ['run', '--explain-scope', '--json']);
    expect(JSON.parse(line)).toMatchObject({ command_reads: reads });
  });
});

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
      `${hidden} is hidden from it: it can read the files that its command names, and the package of each`,
    );
  });
});
