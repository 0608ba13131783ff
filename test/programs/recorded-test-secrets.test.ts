import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { runs, says, script } from '../support/scripted-turns.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const workspaces: Workspace[] = [];

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

const canary = 'canary-of-the-service-0123456789';
const quoted = 'canary"with<quotes>&more';
const key = 'canary-of-the-provider';
const secrets = { SERVICE_TOKEN: canary, OTHER_SECRET: quoted, MODEL_KEY: key };
const never = /canary/;

/** `prompt` is a key of `inference`. */
function manifestOf(prompt: string, allow = '[]'): string {
  return `name: reviewer
version: 1.0.0
inference:
  model: scripted
  api_key: \${MODEL_KEY}
  ${prompt}
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
capabilities: { shell: { allow: [sh] }, env: { allow: ${allow} } }
`;
}

const granted = '[SERVICE_TOKEN, OTHER_SECRET]';

async function recorded(manifest: string, turns: string, env: Readonly<Record<string, string>>): Promise<Workspace> {
  const workspace = makeWorkspace({ 'svc.yaml': manifest, 'script.yaml': turns });
  workspaces.push(workspace);
  expect(await svc(workspace, ['run', '--task', 'Go.', '--capture', 'content'], { env })).toMatchObject({ code: 0 });
  return workspace;
}

async function test(workspace: Workspace, ...args: readonly string[]): Promise<SvcEnd> {
  return await svc(workspace, ['test', ...args], { env: secrets });
}

function report({ folder }: Workspace): string {
  return readFileSync(join(folder, 'report.xml'), 'utf8');
}

describe('a current secret', () => {
  it('enters no report of a test whose prompt holds one now', async () => {
    const workspace = await recorded(manifestOf('system_prompt: Be brief.'), script(runs('echo a'), says('Done.')), {
      MODEL_KEY: 'another-key',
    });
    expect(await test(workspace, '--record', 'kept')).toMatchObject({ code: 0 });
    workspace.write('prompt.md', `Use ${canary}, ${quoted} and ${key}.`);
    workspace.write('svc.yaml', manifestOf('system_prompt_file: prompt.md', granted));
    const [plain, json] = [await test(workspace, '--junit', 'report.xml'), await test(workspace, '--json')];
    for (const { code, stdout, stderr } of [plain, json]) {
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
      expect(stdout).not.toMatch(never);
    }
    workspace.write('tests/kept/expect.yaml', 'ignore: [/grants]\n');
    const failed = await test(workspace, '--junit', 'report.xml');
    expect(failed.stdout).toContain('  + Use [secret], [secret] and [secret].\n');
    expect(failed.stdout).not.toMatch(never);
    expect(report(workspace)).toContain('now: Use [secret], [secret] and [secret].');
    expect(report(workspace)).not.toMatch(never);
    expect((await test(workspace, '--json')).stdout).not.toMatch(never);
  });

  it('does not part a session whose recording has [secret] in its place, and does not decide on its fingerprint', async () => {
    const workspace = await recorded(
      manifestOf('system_prompt: ${SERVICE_TOKEN}', granted),
      script(runs('echo "$OTHER_SECRET"'), says('Done.')),
      secrets,
    );
    expect(await test(workspace, '--record', 'kept')).toMatchObject({ code: 0 });
    const elsewhere = { ...secrets, SERVICE_TOKEN: 'canary-number-two' };
    expect(await svc(workspace, ['test'], { env: elsewhere })).toMatchObject({ code: 0 });
    for (const file of ['session.zip', 'expect.yaml']) {
      expect(readFileSync(join(workspace.folder, 'tests', 'kept', file), 'latin1')).not.toMatch(never);
    }
  });

  it('keeps a recording that has it in plain from becoming a test, and --update from writing it down', async () => {
    const workspace = await recorded(
      manifestOf('system_prompt: Be brief.'),
      script(runs('echo a'), says(`It is ${canary}.`)),
      { MODEL_KEY: 'another-key' },
    );
    expect(await test(workspace, '--record', 'kept')).toMatchObject({ code: 0 });
    workspace.write('svc.yaml', manifestOf('system_prompt: Be brief.', granted));
    const refused = await test(workspace, '--record', 'again');
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('error[E-RUN-069]: ') });
    expect(readdirSync(join(workspace.folder, 'tests'))).toEqual(['kept']);

    workspace.write('tests/kept/expect.yaml', 'tasks: [{ state: completed, result: Another. }]\n');
    const failed = await test(workspace, '--junit', 'report.xml', '--json');
    expect(failed.stdout).not.toMatch(never);
    workspace.write('tests/kept/expect.yaml', 'ignore: [/grants]\ntasks: [{ state: completed, result: Another. }]\n');
    const parted = await test(workspace, '--junit', 'report.xml');
    expect(parted.stdout).toContain('  + It is [secret].\n');
    expect(report(workspace)).toContain('now: It is [secret].');
    expect(`${parted.stdout}${report(workspace)}`).not.toMatch(never);
    const updated = await test(workspace, '--update');
    expect(updated.stdout).not.toMatch(never);
    expect(readFileSync(join(workspace.folder, 'tests', 'kept', 'expect.yaml'), 'utf8')).toBe(
      'ignore: [/grants]\ntasks:\n  - state: completed\n',
    );
    expect(await test(workspace)).toMatchObject({ code: 0 });
    expect(await svc(workspace, ['test'])).toMatchObject({ code: 0 });
  });
});
