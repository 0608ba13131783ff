/** Uses each command once, the simplest way it is used: `npm run test:quick` shows by it that the programs work at all. */

import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { key, RegistryKit } from '../packages/registry/test/registry-kit.ts';
import { taskFile, useCapsules } from './support/capsule-folders.ts';
import { asks, says, script } from './support/scripted-turns.ts';
import { startCapsule, svc, SvcProcess } from './support/svc-process.ts';
import type { Workspace } from './support/workspace.ts';

const capsule = useCapsules();
const hello = fileURLToPath(new URL('../examples/hello', import.meta.url));

type Use = readonly [line: string, prints: string];

/** Runs commands one after the other. Returns the first that does not end with 0 or does not print what is written behind it. */
async function failed(
  workspace: Workspace,
  uses: readonly Use[],
  env: Readonly<Record<string, string>> = {},
): Promise<object | null> {
  for (const [line, prints] of uses) {
    const end = await svc(workspace, line.split(' '), { env });
    if (end.code !== 0 || !end.stdout.includes(prints)) return { line, prints, ...end };
  }
  return null;
}

it('every command that looks at a session shows one that runs, and one that has ended', async () => {
  const workspace = capsule({
    manifest:
      'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\nlifecycle: { task_acceptance: queue, after_task: sleep }\n',
    script: script(
      { ...asks('Which colour?'), when: 'Ask' },
      says('Late.', { when: 'Hang', delay_ms: 600_000 }),
      says('It is done.', { when: 'Go' }),
      { ...says('Red it is.'), when: 'Red' },
    ),
  });
  const { process, line } = await startCapsule(workspace);
  const session = line.session_id;
  expect(
    await failed(workspace, [
      ['ps', line.name],
      [`send ${session} --wait Go.`, 'It is done.'],
      [`send ${session} Ask.`, ''],
    ]),
  ).toBeNull();
  await expect.poll(async () => (await svc(workspace, ['tasks', session])).stdout).toContain('Which colour?');
  expect(
    await failed(workspace, [
      [`answer ${session} Red.`, ''],
      [`send ${session} Hang.`, ''],
      [`cancel ${session}`, ''],
    ]),
  ).toBeNull();
  const watch = new SvcProcess(workspace, ['watch', session]);
  expect(await failed(workspace, [[`send ${session} Go.`, '']])).toBeNull();
  await watch.printed(/It is done\./);
  expect(await failed(workspace, [[`stop ${session}`, '']])).toBeNull();
  expect(await watch.ended).toMatchObject({ code: 0 });
  await process.ended;
  expect(
    await failed(workspace, [
      ['sessions', line.name],
      ['trace list', line.name],
      [`trace show ${session}`, session],
      [`trace steps ${session}`, 'model'],
      [`trace export ${session} --output session.zip`, ''],
      [`logs ${session}`, ''],
      ['prune --dry-run --keep 0', session],
    ]),
  ).toBeNull();
  const page = new SvcProcess(workspace, ['view', session]);
  await page.printed(/http:\/\/\S+/);
  page.child.kill('SIGTERM');
  await page.ended;
});

it('every command that runs a capsule does so, or says what it needs', async () => {
  const workspace = capsule({ manifest: '', files: taskFile });
  cpSync(hello, join(workspace.folder, 'hello'), { recursive: true });
  expect(
    await failed(workspace, [
      ['run --manifest hello/svc.yaml', ''],
      ['run --manifest hello/svc.yaml --explain-scope', 'wc'],
      ['test hello/tests --manifest hello/svc.yaml', ''],
      ['serve mcp --help', 'standard input'],
      ['list --manifest hello/svc.yaml', 'greeting-style'],
    ]),
  ).toBeNull();
  const chat = await svc(workspace, ['chat', '--manifest', 'hello/svc.yaml']);
  expect(chat).toMatchObject({ code: 1, stderr: expect.stringContaining('terminal') as string });
});

it('every command for artifacts makes, publishes, installs or checks one', async () => {
  const registry = await RegistryKit.open();
  const workspace = capsule({ manifest: '', files: taskFile });
  const env = { SVC_REGISTRY_URL: `http://127.0.0.1:${registry.port}`, REGISTRY_API_KEY: key };
  expect(
    await failed(
      workspace,
      [
        ['new skill tone', 'tone'],
        ['build tone --out .', ''],
        ['key new mine', ''],
        ['sign tone-0.1.0.zip --key mine.key', ''],
        ['publish tone', ''],
        ['search tone', 'tone'],
        ['info tone', '0.1.0'],
        ['add tone', 'tone'],
        ['install', ''],
        ['verify', 'tone'],
        ['outdated', ''],
        ['update', ''],
        ['deprecate tone@0.1.0 --reason Old.', ''],
        ['yank tone@0.1.0 --reason Wrong.', ''],
        ['block tone@0.1.0 --reason Bad.', ''],
        ['restore tone@0.1.0', ''],
        ['remove tone', 'tone'],
      ],
      env,
    ),
  ).toBeNull();
});

it('every command about this machine and about svc answers', async () => {
  const workspace = capsule({ manifest: '', files: taskFile });
  expect(
    await failed(workspace, [
      ['--version', '.'],
      ['trust --help', 'update'],
      ['doctor', 'containment:'],
      ['explain E-MAN-001', 'E-MAN-001'],
      ['help run', 'Usage: svc run'],
      ['completion bash', 'complete'],
      ['token add desk --scope read', ''],
      ['token ls', 'desk'],
      ['token rm desk', ''],
    ]),
  ).toBeNull();
});
