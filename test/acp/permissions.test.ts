import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { calls, says, script } from '../support/scripted-turns.ts';
import { calls as callsIn, says as saysIn, useFormations } from '../support/formation.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { type Update, useEditors } from './editor.ts';

const open = useEditors();
const start = useFormations();

const manifest = `capabilities: { shell: { allow: [touch] } }
approvals: { rules: [{ ask: { command: [touch, "**"] } }] }
`;

function touches(...files: readonly string[]): string {
  return script(calls(files.map((file, at) => [`c${at}`, 'touch', { command: file }] as const)), says('Done.'));
}

async function prompted(
  choices: readonly (string | null)[],
  files: readonly string[],
  answer = '[terminal, door, acp]',
): Promise<{ readonly requests: readonly Update[]; readonly made: readonly string[] }> {
  const workspace = scriptCapsule({
    manifest: manifest.replace('approvals: {', `approvals: { answer: ${answer},`),
    script: touches(...files),
  });
  const cwd = join(dirname(workspace.folder), 'code');
  mkdirSync(cwd, { recursive: true });
  const requests: Update[] = [];
  const editor = await open(workspace, {
    env: { SVC_CONTAINMENT_CEILING: 'sealed' },
    choose: (request) => {
      requests.push(request);
      return choices[requests.length - 1] ?? null;
    },
  });
  await editor.initialize(false);
  const session = await editor.newSession(cwd);
  expect(await editor.prompt(session, 'Touch.')).toBe('end_turn');
  return { requests, made: files.filter((file) => existsSync(join(cwd, file))) };
}

describe('the user of an editor', () => {
  it('allows a call once or for the session when the editor asks', async () => {
    const { requests, made } = await prompted(['session', 'once'], ['a', 'a', 'b']);
    expect(requests).toMatchObject([
      {
        toolCall: {
          toolCallId: expect.stringMatching(/^apr_[0-9a-f]{32}_q1$/),
          title: '"touch" "a"',
          kind: 'execute',
          status: 'pending',
        },
        options: [
          { optionId: 'once', name: 'Allow', kind: 'allow_once' },
          { optionId: 'session', name: 'Allow in this session', kind: 'allow_always' },
          { optionId: 'deny', name: 'Reject', kind: 'reject_once' },
        ],
      },
      { toolCall: { title: '"touch" "b"' } },
    ]);
    expect(made).toEqual(['a', 'a', 'b']);
  }, 60_000);

  it('denies it with a rejection, a cancel and an option that was not offered', async () => {
    const { requests, made } = await prompted(['deny', null, 'manifest'], ['a', 'b', 'c']);
    expect(requests).toHaveLength(3);
    expect(made).toEqual([]);
  }, 60_000);

  it('has no say where the manifest wants answers from elsewhere alone', async () => {
    const { requests, made } = await prompted(['once'], ['a'], '[terminal]');
    expect([requests, made]).toEqual([[], []]);
  }, 60_000);

  it('allows the call of a child of the capsule too, under the names of both', async () => {
    const shell = 'shell: { allow: [touch] }, containment: scoped';
    const env = { SVC_CONTAINMENT_CEILING: 'sealed' };
    const { workspace, referee } = await start({
      env,
      capsules: {
        lead: {
          manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }
capabilities: { ${shell}, spawn: { allow: [deployer] } }
`,
          script: [
            callsIn('delegate-task', { capsule: 'deployer', version: '1.0.0', task: 'Go on.' }, 'Start'),
            saysIn('It is under way.', 'Start'),
            saysIn('Heard.', 'delegation_id'),
          ].join(''),
        },
        deployer: {
          manifest: `capabilities: { ${shell} }
approvals: { rules: [{ ask: { command: [touch, "**"] } }] }
`,
          script: [callsIn('touch', { command: 'pushed' }, 'Go on'), saysIn('Done.', 'Go on')].join(''),
        },
      },
    });
    for (const name of ['svc.yaml', 'script.yaml']) {
      copyFileSync(join(workspace.folder, 'lead', name), join(workspace.folder, name));
    }
    const cwd = join(dirname(workspace.folder), 'code');
    mkdirSync(cwd, { recursive: true });
    const requests: Update[] = [];
    const editor = await open(workspace, {
      env: { ...env, SVC_REFEREE_URL: referee },
      choose: (request) => {
        requests.push(request);
        return 'once';
      },
    });
    await editor.initialize(false);
    expect(await editor.prompt(await editor.newSession(cwd), 'Start')).toBe('end_turn');
    const made = (): boolean => {
      const children = join(cwd, '.svc', 'children');
      return readdirSync(children).some((name) => existsSync(join(children, name, 'pushed')));
    };
    await expect.poll(made, { timeout: 30_000 }).toBe(true);
    expect(JSON.stringify(requests)).toContain('lead > deployer wants to run this, and approvals.rules[0] asks you:');
    expect(JSON.stringify(requests)).toContain('"name":"Allow in its session"');
    expect(requests).toHaveLength(1);
  }, 60_000);
});
