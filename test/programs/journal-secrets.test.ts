import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { mcpArtifact, oddBehaviour, oddServerProgram } from '../support/mcp-artifact.ts';
import { calls as told, says as answers, useFormations } from '../support/formation.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { asks, calls, says, script } from '../support/scripted-turns.ts';
import { StreamedCapsule } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';

const start = useFormations();
const workspaces: Workspace[] = [];
const running: StreamedCapsule[] = [];

afterEach(async () => {
  for (const capsule of running.splice(0)) await capsule.dispose();
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

const canary = 'canary-of-the-service-0123456789';
const quoted = 'canary"with\\quotes/and&more';
const lines = 'canary-line-one-0123\ncanary-line-two-4567';
const known = {
  SERVICE_TOKEN: canary,
  build_Password: quoted,
  DEPLOY_KEY: lines,
  SOME_SECRET: 'true',
  PIN_KEY: '8675309867',
};
/** No record may hold one of these, nor their beginnings. */
const never = [
  'canary-of-the-service',
  'canary\\"with',
  'canary"with',
  'canary-line-one',
  'canary-line-two',
  '8675309867',
];

const manifest = `trace: { capture: content }
lifecycle: { task_acceptance: queue, after_task: sleep, conversation: threaded }
artifacts:
  - { name: svc-tool-request-input, version: 1.0.0 }
  - { name: svc-hook-debug, version: 1.0.0, runtime: hook, capabilities: { env: { allow: [SERVICE_TOKEN] } } }
  - { name: odd, version: 1.0.0, source: ./odd }
capabilities:
  env: { allow: [SERVICE_TOKEN, build_Password, DEPLOY_KEY, SOME_SECRET, PIN_KEY, BENIGN] }
  shell: { allow: [sh] }
`;

const json = JSON.stringify({ nested: JSON.stringify({ password: quoted }) });

const everywhere = script(
  calls([['c1', 'sh', { command: 'echo "$SERVICE_TOKEN $BENIGN $SOME_SECRET"; echo "$build_Password" >&2; exit 3' }]]),
  calls([['c2', 'sh', { command: 'touch "name-of-$SERVICE_TOKEN"; ls; echo "$DEPLOY_KEY" | tail -1' }]]),
  calls([['c3', 'odd__echo', { [canary]: json, list: [canary, 'it is true'], pin: 8_675_309_867, count: 8_675_309 }]], {
    chunks: ['the token is canary-of-the-', 'service-0123456789, I think'],
    thinking: [`is ${canary} right?`],
  }),
  calls([
    ['c4', 'odd__fails', {}],
    ['c5', canary, { path: canary }],
  ]),
  asks(`Is it ${canary}?`),
  { content: [{ type: 'text', text: canary }], stop_reason: 'error', error: `401: bad key ${canary}` },
);

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

describe('a secret of a variable that a capsule is granted', () => {
  it('enters no byte of journal, bodies, trace, logs of hooks and exports, wherever it comes from', async () => {
    const workspace = scriptCapsule({
      manifest,
      script: everywhere,
      files: {
        ...mcpArtifact('odd', oddServerProgram(), 'behaviour.json'),
        'work/behaviour.json': oddBehaviour(['echo', 'fails']),
        'prompt.md': `The token is ${canary}. ${'Long. '.repeat(20_000)} ${canary}`,
      },
    });
    workspaces.push(workspace);
    const text = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', text.replace('  model:', '  system_prompt_file: prompt.md\n  model:'));
    const env = { ...known, BENIGN: 'benign-0123456789' };
    const capsule = await StreamedCapsule.start(workspace, env, ['--workdir', 'work']);
    running.push(capsule);
    const stream = await capsule.submit(`Use ${canary} and ${JSON.stringify(quoted)}.`);
    await stream.status('input-required', `Is it ${canary}?`);
    await capsule.send(`No, ${canary} it is, or ${lines}.`);
    await stream.untilClosed();
    expect(await capsule.terminate()).toMatchObject({ signal: null });

    await svc(workspace, ['trace', 'export', '-o', 'kept.zip'], { env });
    await svc(workspace, ['trace', 'import', join(workspace.folder, 'kept.zip'), '--manifest', 'other/svc.yaml']);
    const session = join(workspace.folder, '.svc', 'sessions', capsule.line.session_id);
    const records = ['journal.jsonl', 'trace.jsonl'].map((name) => join(session, name));
    const bodies = filesIn(join(session, 'bodies'));
    expect(bodies.length).toBeGreaterThan(0);
    const kept = [
      ...records,
      ...bodies,
      join(session, 'logs', 'hook-svc-hook-debug.log'),
      ...filesIn(join(workspace.folder, '.svc', 'conversations')),
      ...filesIn(join(workspace.folder, 'other', '.svc', 'sessions')),
    ];
    for (const path of kept) {
      const written = readFileSync(path, 'utf8');
      for (const secret of never) expect(written.includes(secret), `${path} holds ${secret}`).toBe(false);
    }
    const journal = readFileSync(join(session, 'journal.jsonl'), 'utf8');
    // They came by, and what is no secret stayed.
    expect(journal).toContain('[secret] benign-0123456789 true');
    expect(journal).toContain('401: bad key [secret]');
    expect(journal).toContain('name-of-[secret]');
    expect(journal).toContain('it is true');
    expect(journal).toContain('\\"pin\\":\\"[secret]\\",\\"count\\":8675309');
    expect(journal).toContain('Is it [secret]?');
    expect(journal).toContain('No, [secret] it is, or [secret].');
  });
});

describe('a secret where svc cuts a text', () => {
  it('leaves no part in journal, bodies, trace, plans, exports and recorded tests, and the session replays', async () => {
    const places = [4, 10, 20, 28].map((kept) => ({ id: `at-${kept}`, text: 'x'.repeat(16_384 - kept) + canary }));
    // The output of the step fits, and what the model reads of it does not.
    const before = 'command: cat of-plan\nexit code: 0\nstdout:\n';
    const ofPlan = 'y'.repeat(16_384 - before.length - 10) + canary;
    const plan = { id: 'cuts', steps: [{ id: 'one', shell: 'sh', input: 'cat of-plan' }] };
    const workspace = scriptCapsule({
      manifest: `trace: { capture: content }
capabilities: { env: { allow: [SERVICE_TOKEN] }, shell: { allow: [sh] }, plan: { submit: true } }
`,
      script: script(
        ...places.map(({ id }, at) => calls([[`c${at}`, 'sh', { command: `cat ${id} ${id}` }]])),
        calls([['p', 'submit-plan', plan]]),
        says('Done.'),
      ),
      files: { 'work/of-plan': ofPlan, ...Object.fromEntries(places.map(({ id, text }) => [`work/${id}`, text])) },
    });
    workspaces.push(workspace);
    const env = { SERVICE_TOKEN: canary };
    expect(await svc(workspace, ['run', '--task', 'Go.', '--workdir', 'work'], { env })).toMatchObject({ code: 0 });
    await svc(workspace, ['trace', 'export', '-o', 'kept.zip'], { env });
    await svc(workspace, ['trace', 'import', join(workspace.folder, 'kept.zip'), '--manifest', 'other/svc.yaml']);
    expect(await svc(workspace, ['test', '--record', 'kept'], { env })).toMatchObject({ code: 0 });
    const records = ['.svc/sessions', 'other/.svc/sessions', 'tests'].flatMap((name) =>
      filesIn(join(workspace.folder, name)),
    );
    const kept = records.filter((path) => !path.includes('/logs/'));
    const written = kept.map((path) => readFileSync(path, 'latin1'));
    const journal = written.find((text) => text.startsWith('{"n":0,"k":"open"')) ?? '';
    // Behind 16,380 characters two secrets and a whole second text are left out.
    expect(journal.includes('[16444 more bytes are not shown')).toBe(true);
    expect(/y\[secret\]\\+ns\\+",\\+"cut\\+":true/.test(journal)).toBe(true);
    expect(kept.filter((_, at) => written[at]?.includes(canary.slice(0, 4)))).toEqual([]);
    expect(await svc(workspace, ['run', '--replay'])).toMatchObject({ code: 0 });
    expect(await svc(workspace, ['test'])).toMatchObject({ code: 0 });
  });
});

describe('a secret that comes back from outside', () => {
  it('stays out of the journal of a session whose provider repeats its key in a refusal and in an answer', async () => {
    const key = 'sk-canary-of-the-provider-0123';
    const provider = await startFakeOpenAi(
      [
        { kind: 'stream', text: ['It is sk-canary-of-', 'the-provider-0123.'] },
        { kind: 'refuse', status: 401, message: `the key ${key} is blocked` },
      ],
      { key },
    );
    const workspace = makeWorkspace({
      'svc.yaml': `name: keyed
version: 0.1.0
inference:
  endpoint: ${provider.endpoint}
  model: small-model
  api_key: \${PROVIDER_KEY}
  system_prompt: You tell secrets.
  driver: { artifact: svc-driver-openai }
  max_tokens: 500
`,
    });
    workspaces.push(workspace);
    const env = { PROVIDER_KEY: key };
    expect(await svc(workspace, ['run', '--task', 'Tell.'], { env })).toMatchObject({ code: 0 });
    expect(await svc(workspace, ['run', '--task', 'Tell.'], { env })).toMatchObject({ code: 1 });
    await provider.close();
    const written = filesIn(join(workspace.folder, '.svc', 'sessions')).map((path) => readFileSync(path, 'utf8'));
    expect(written.filter((text) => text.includes('canary-of-the-provider'))).toEqual([]);
    const journals = written.filter((text) => text.startsWith('{"n":0,"k":"open"')).join('');
    expect(journals).toContain('It is [secret].');
    expect(journals).toMatch(/the key \*+ is blocked/);
  });

  it('stays out of the journal of a capsule that gets it from one that it delegated to', async () => {
    const lead = {
      manifest: `lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }
capabilities: { spawn: { allow: [worker] }, env: { allow: [SERVICE_TOKEN] }, shell: { allow: [sh] } }
`,
      script: [
        told('delegate-task', { capsule: 'worker', version: '1.0.0', task: `Use ${canary}` }, 'Begin'),
        answers('It is under way.', 'Begin'),
        told('sh', { command: 'cat .svc/children/*/out/result.txt' }, 'delegation_id'),
        answers('Heard.', 'delegation_id'),
      ].join(''),
    };
    const worker = {
      manifest: 'lifecycle: { task_acceptance: single }\n',
      script: answers(`It was ${canary}.`, `Use ${canary}`),
    };
    const formation = await start({ capsules: { lead, worker }, env: { SERVICE_TOKEN: canary } });
    await formation.send('Begin');
    await formation.tasksEnded(2);
    expect(formation.results.join('')).toContain(`It was ${canary}.`);
    const session = join(formation.workspace.folder, '.svc', 'sessions', formation.line.session_id);
    const written = ['journal.jsonl', 'trace.jsonl'].map((name) => readFileSync(join(session, name), 'utf8')).join('');
    expect(written).toContain('It was [secret].');
    expect(written).not.toContain(canary);
  });
});

describe('a key or a token that is unfit', () => {
  const texts = async (env: Readonly<Record<string, string>>): Promise<{ stderr: string; journal: string }> => {
    const workspace = scriptCapsule({ script: script(says('I ran the test.')) });
    workspaces.push(workspace);
    const text = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', text.replace('model: scripted', 'model: scripted\n  api_key: ${KEY}'));
    const { code, stderr } = await svc(workspace, ['run', '--task', 'Run it.'], { env });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const sessions = join(workspace.folder, '.svc', 'sessions');
    const [session = ''] = readdirSync(sessions);
    return { stderr, journal: readFileSync(join(sessions, session, 'journal.jsonl'), 'utf8') };
  };

  it('causes a warning that says what becomes of texts that hold it by chance', async () => {
    const { stderr, journal } = await texts({ KEY: 'test', SVC_LISTENER_TOKEN: 'a-token' });
    const hint = 'of at least 8 characters; one that nobody checks may be any text\n';
    const effect = 'traces and journals have [secret] wherever a text has the same letters by chance\n';
    expect(stderr).toContain(
      `warning[W-RUN-174]: the key of the model's provider has only 4 characters: ${effect}hint: give a key ${hint}`,
    );
    expect(stderr).toContain(
      `warning[W-RUN-174]: SVC_LISTENER_TOKEN has only 7 characters: ${effect}hint: give a token ${hint}`,
    );
    expect(journal).toContain('I ran the [secret].');
  });

  it('stays in all texts where it is shorter than a word, which the warning says', async () => {
    const { stderr, journal } = await texts({ KEY: 'ran' });
    expect(stderr).toContain(
      "warning[W-RUN-174]: the key of the model's provider has only 3 characters: it is not taken out of traces and journals\n",
    );
    expect(journal).toContain('I ran the test.');
  });

  it('causes a warning that it is empty, with the variable', async () => {
    const { stderr } = await texts({ KEY: '' });
    expect(stderr).toContain(
      "warning[W-RUN-174]: the key of the model's provider is empty: KEY is set, but empty\n" +
        'hint: set KEY to a key; one that nobody checks may be any text\n',
    );
  });

  it('refuses one with a line break before anything runs, and shows nothing of it', async () => {
    const workspace = scriptCapsule({ script: script(says('I ran the test.')) });
    workspaces.push(workspace);
    const text = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    const own = 'model: scripted\n  endpoint: http://127.0.0.1:9\n  api_key: ${KEY}';
    workspace.write('svc.yaml', text.replace('model: scripted', own));
    const { code, stdout, stderr } = await svc(workspace, ['run', '--task', 'Go.'], {
      env: { KEY: `${canary}\nmore` },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(
      "error[E-MAN-003]: KEY, the key of the model's provider, has a line break in it and cannot be sent\n",
    );
    expect(stderr).toContain('hint: set KEY to the key alone\n');
    expect(stderr).not.toMatch(new RegExp(`${canary}|more`));
  });

  it('causes none where it has eight characters', async () => {
    const { stderr } = await texts({ KEY: 'test-key', SVC_LISTENER_TOKEN: 'a-token-' });
    expect(stderr).not.toContain('W-RUN-174');
  });
});
