import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { onlySession, useCapsules } from '../support/capsule-folders.ts';
import { mcpArtifact, oddBehaviour, oddServerProgram } from '../support/mcp-artifact.ts';
import { calls, runs, says, script } from '../support/scripted-turns.ts';
import { doing, standInCapsule } from '../support/stand-in.ts';
import { rpc, startCapsule, svc, SvcProcess } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const workspaces: Workspace[] = [];
afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

/** Complains of what it is granted in two pieces, of a megabyte without a line feed, and of bytes that are no text. */
const noisyTool = `#!/usr/bin/env node
const say = (bytes) => new Promise((resolve) => process.stderr.write(bytes, resolve));
await say('the key is ' + process.env.SERVICE_KEY.slice(0, 5));
await say(process.env.SERVICE_KEY.slice(5) + '.\\n');
await say(Buffer.concat([Buffer.alloc(1048576, 'x'), Buffer.from([0xff, 0x0a])]));
console.log('{"status":"passed","content":"quiet"}');
`;

const key = 'service-key-0123456789';

/** Answers each request, and says on standard error what it was asked; \`die\` ends it. */
const driver = `import { createInterface } from 'node:readline';
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line).request.messages.at(-1).content[0].text;
  console.error('asked: ' + asked);
  if (asked === 'die') {
    process.stderr.write('out of luck', () => process.exit(3));
    continue;
  }
  console.log(JSON.stringify({ type: 'response', response: { content: [{ type: 'text', text: 'Yes.' }], stop_reason: 'end_turn' } }));
}
`;

async function send(url: string, text: string): Promise<void> {
  await rpc(url, 'message/send', { message: { messageId: text, role: 'user', parts: [{ text }] } });
}

function objects(stdout: string): Record<string, unknown>[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each) as Record<string, unknown>);
}

describe('svc logs --stderr', () => {
  it('shows what servers and tools wrote, and whose it is', async () => {
    const workspace = capsule({
      manifest: `artifacts:
  - { name: odd, version: 1.0.0, source: ./odd }
  - { name: noisy, version: 1.0.0, source: ./noisy, capabilities: { env: { allow: [SERVICE_KEY] } } }
capabilities: { shell: { allow: [sh] }, env: { allow: [SERVICE_KEY] } }
`,
      script: script(
        runs('head -c 17000 /dev/zero | tr "\\\\0" y >&2'),
        calls([['call_1', 'noisy', {}]]),
        calls([['call_2', 'odd__die', {}]]),
        says('Done.'),
      ),
      files: {
        'task.md': 'Go.\n',
        ...mcpArtifact('odd', oddServerProgram(), 'behaviour.json'),
        'work/behaviour.json': oddBehaviour(['die']),
        'noisy/svc.yaml': `name: noisy\nversion: 1.0.0\nruntime: tool\nimplementation: native\ncapabilities: { env: { allow: [SERVICE_KEY] } }\n`,
        'noisy/bin/noisy': noisyTool,
      },
    });
    chmodSync(join(workspace.folder, 'noisy/bin/noisy'), 0o755);
    const ran = await svc(workspace, ['run', '--workdir', 'work'], { env: { SERVICE_KEY: key } });
    expect(ran).toMatchObject({ code: 0 });
    const { stdout } = await svc(workspace, ['logs', '--stderr']);
    expect(stdout.replace(/y{17000}/, 'y...').replace(/x{1048576}/, 'x...')).toBe(
      [
        '== #2 sh, standard error, 17.0 KB ==\n',
        'y...\n',
        '== server odd, standard error, 12 B ==\n',
        'out of luck\n',
        '== tool noisy, standard error, 1.0 MB ==\n',
        'the key is [secret].\n',
        'x...\uFFFD\n',
      ].join(''),
    );
    const listed = objects((await svc(workspace, ['logs', '--stderr', '--list', '--json'])).stdout);
    expect(listed.map(({ modified_at_ms: _at, ...rest }) => rest).slice(1)).toEqual([
      { file: 'stderr-mcp-odd.log', source: 'mcp', name: 'odd', output: 'stderr', call: null, step: null, bytes: 12 },
      {
        file: 'stderr-tool-noisy.log',
        source: 'tool',
        name: 'noisy',
        output: 'stderr',
        call: null,
        step: null,
        bytes: 1_048_599,
      },
    ]);
    const [piece] = objects((await svc(workspace, ['logs', '--stderr', '--json'])).stdout).slice(1);
    expect(piece).toEqual({
      step: null,
      source: 'mcp',
      name: 'odd',
      output: 'stderr',
      file: 'stderr-mcp-odd.log',
      offset: 0,
      text: 'out of luck\n',
    });
  });

  it('follows the driver of a session that runs, whose programs end and begin again', async () => {
    const workspace = makeWorkspace({
      'svc.yaml': `name: followed
version: 1.0.0
inference: { transport: process, model: m, command: [node, driver.mjs] }
lifecycle: { task_acceptance: queue, after_task: sleep }
`,
      'driver.mjs': driver,
    });
    workspaces.push(workspace);
    const { process: running, line } = await startCapsule(workspace);
    const logs = join(workspace.folder, '.svc/sessions', line.session_id, 'logs');
    const following = new SvcProcess(workspace, ['logs', '-f', '--stderr']);
    await send(line.url, 'one');
    await following.printed(/== driver, standard error, 11 B ==\nasked: one\n/);
    await send(line.url, 'die');
    await following.printed(/asked: die\nout of luck/);
    await send(line.url, 'two');
    await following.printed(/asked: two\n/);
    running.child.kill('SIGTERM');
    const { code, stdout } = await following.ended;
    await running.ended;
    expect(code).toBe(0);
    expect(stdout).toBe('== driver, standard error, 11 B ==\nasked: one\nasked: die\nout of luck\nasked: two\n');
    expect(readdirSync(logs)).toEqual(['stderr-driver.log']);
    expect(statSync(join(logs, 'stderr-driver.log')).mode & 0o777).toBe(0o600);
    const listed = objects((await svc(workspace, ['logs', '--list', '--json'])).stdout);
    expect(listed).toMatchObject([{ source: 'driver', name: null, output: 'stderr', step: null }]);
  });

  it.each(['claude', 'codex'] as const)('shows what %s wrote, without its key', async (name) => {
    const { workspace, env } = standInCapsule(name, '');
    workspaces.push(workspace);
    const task = doing({ complain: 'key sk-prov' }, { complain: 'ider-1\n' }, { say: 'Well.' });
    expect(await svc(workspace, ['run', '--task', task], { env })).toMatchObject({ code: 0 });
    expect((await svc(workspace, ['logs', '--stderr'])).stdout).toBe('key [secret]\n');
  });

  it('makes no file for a program that says nothing', async () => {
    const { workspace, env } = standInCapsule('claude', '');
    workspaces.push(workspace);
    expect(await svc(workspace, ['run', '--task', doing({ say: 'Well.' })], { env })).toMatchObject({ code: 0 });
    expect(readdirSync(join(workspace.folder, '.svc/sessions', onlySession(workspace)))).not.toContain('logs');
  });
});
