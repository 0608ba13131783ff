import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { onlySession, taskFile, useCapsules } from '../support/capsule-folders.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { message, rpc, svc } from '../support/svc-process.ts';
import { useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsule = useCapsules();
const { script: running } = useStreamedCapsules();

const sleeps = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';

describe('svc run refuses a manifest', () => {
  it.each([
    ['D1-MAN-02', 'artifacts: [{ version: 1.0.0 }]', 'E-MAN-001', 'artifacts[0].name is missing'],
    ['D1-MAN-02', 'artifacts: [{ name: one }]', 'E-MAN-001', 'artifacts[0].version is missing'],
    [
      'D1-MAN-03',
      'artifacts: [{ name: one, version: 1.0.0, runtime: plugin }]',
      'E-MAN-003',
      'must be one of driver, tool, hook, skill',
    ],
    ['D1-MAN-09', 'lifecycle: { task_acceptance: some }', 'E-MAN-003', 'must be one of none, single, queue'],
    ['D1-MAN-12', 'lifecycle: { queue_depth: 1.5 }', 'E-MAN-003', 'lifecycle.queue_depth must be a whole number'],
    [
      'D1-MAN-15',
      'lifecycle: { max_task_reopens: 1.5 }',
      'E-MAN-003',
      'lifecycle.max_task_reopens must be a whole number',
    ],
    [
      'D1-MAN-16',
      'lifecycle: { delegation_deadline_secs: 0 }',
      'E-MAN-003',
      'lifecycle.delegation_deadline_secs must be at least 1',
    ],
    [
      'D1-MAN-16',
      'lifecycle: { delegation_deadline_secs: 2.5 }',
      'E-MAN-003',
      'lifecycle.delegation_deadline_secs must be a whole number',
    ],
    [
      'D1-MAN-24',
      'capabilities: { shell: { allow: [/bin/sh] } }',
      'E-MAN-003',
      'capabilities.shell.allow[0] must be a bare command name',
    ],
    [
      'D1-MAN-25',
      'capabilities: { spawn: { allow: [Helper] } }',
      'E-MAN-003',
      'capabilities.spawn.allow[0] must be lowercase',
    ],
    [
      'D1-MAN-26',
      'capabilities: { env: { allow: [1ST] } }',
      'E-MAN-003',
      'capabilities.env.allow[0] must be a variable name',
    ],
    [
      'D1-MAN-27',
      'capabilities: { peer_fetch: { allow: ["ftp://a.example"] } }',
      'E-CAP-001',
      'capabilities.peer_fetch.allow[0]',
    ],
    [
      'D1-MAN-28',
      'capabilities: { state: { store: 7 } }',
      'E-MAN-003',
      'capabilities.state.store must be a store name',
    ],
    ['D1-MAN-29', 'exports: { files: { root: 7 } }', 'E-MAN-003', 'exports.files.root must be text'],
    ['D1-MAN-30', 'exports: { peer_files: { root: out, max_ttl: soon } }', 'E-MAN-003', 'exports.peer_files.max_ttl'],
    [
      'D1-ERR-07] [D3-ERR-20] [D3-LIMIT-03] [D3-LIMIT-04',
      `${sleeps}exports: { peer_files: { root: out } }`,
      'E-CAP-008',
      'max_ttl is required',
    ],
    [
      'D1-ERR-07] [D3-ERR-20] [D3-LIMIT-03] [D3-LIMIT-04',
      `${sleeps}exports: { peer_files: { root: out, max_ttl: 901s } }`,
      'E-CAP-008',
      'longer than 15m',
    ],
  ])('[%s] with %j, before anything runs', async (_clause, manifest, code, words) => {
    const workspace = capsule({ manifest: `${manifest}\n`, files: taskFile });
    const { code: exit, stdout, stderr } = await svc(workspace, ['run']);
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    expect(stderr).toContain(`error[${code}]: `);
    expect(stderr).toContain(words);
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
  });

  it.each([
    ['E-RUN-020', { SVC_SPAWNER: 'my parent' }],
    ['E-RUN-020', { SVC_SPAWNER: '' }],
  ])('[D1-ERR-08] [D2-CODE-03] and says %s in the environment %j', async (code, env) => {
    const { code: exit, stdout, stderr } = await svc(capsule({ files: taskFile }), ['run'], { env });
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    expect(stderr).toContain(`error[${code}]: SVC_SPAWNER cannot be read as a spawner handle: `);
  });

  it('[D1-ERR-08] [D2-CODE-01] that may delegate, and says E-RUN-019 without a referee', async () => {
    const workspace = capsule({ manifest: 'capabilities: { spawn: { allow: [worker] } }\n', files: taskFile });
    const { code, stdout, stderr } = await svc(workspace, ['run']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('error[E-RUN-019]: ');
  });
});

describe('svc run takes from a manifest', () => {
  it.each([
    ['15m of a capsule that sleeps', `${sleeps}exports: { peer_files: { root: out, max_ttl: 15m } }\n`, 900],
    ['any lifetime of one that exits', 'exports: { peer_files: { root: out, max_ttl: 900h } }\n', 3_240_000],
    ['an hour of one that exits and names none', 'exports: { peer_files: { root: out } }\n', 3600],
  ])(
    'the lifetime of its handles: %s [D1-MAN-30, D3-EXPORT-06, D3-LIMIT-02, D3-LIMIT-03]',
    async (_what, manifest, seconds) => {
      const other = await running({ manifest: sleeps });
      const [host, port] = ['localhost', other.line.url.split(':')[1]];
      const share = JSON.stringify([
        { type: 'tool_call', id: 'c1', name: 'share-file', input: { path: 'a.txt', peer: `${host}:${port}` } },
      ]);
      const sharing = await running({
        manifest: `${manifest}capabilities: { network: { allow: [localhost] } }\n`,
        script: `- { content: ${share}, stop_reason: tool_call }\n- { content: [{ type: text, text: Shared. }], stop_reason: end_turn }\n`,
      });
      mkdirSync(join(sharing.line.workdir, 'out'));
      writeFileSync(join(sharing.line.workdir, 'out', 'a.txt'), 'a');
      const before = Date.now();
      const { frames } = await (await sharing.submit('Share it.')).untilClosed();
      const artifact = frames.find(({ event }) => event === 'artifact')?.data['artifact'] as { content: string };
      const [json = ''] = artifact.content.match(/\{.*\}/) ?? [];
      const { expires_at_ms: expires } = JSON.parse(json) as { expires_at_ms: number };
      expect(expires - before).toBeGreaterThanOrEqual(seconds * 1000);
      expect(expires - Date.now()).toBeLessThanOrEqual(seconds * 1000);
    },
  );

  it('how large a file a handle gives, below which root [D1-MAN-30, D3-EXPORT-04, D3-EXPORT-05, D3-PEER-07]', async () => {
    const peer = (await running({ manifest: sleeps })).line.url;
    const shares = JSON.stringify(
      ['fits', 'large'].map((path) => ({ type: 'tool_call', id: path, name: 'share-file', input: { path, peer } })),
    );
    const sharing = await running({
      manifest: `${sleeps}exports: { peer_files: { root: public, max_bytes: 3, max_ttl: 5m } }\ncapabilities: { network: { allow: [localhost] } }\n`,
      script: `- { content: ${shares}, stop_reason: tool_call }\n- { content: [{ type: text, text: Shared. }], stop_reason: end_turn }\n`,
    });
    mkdirSync(join(sharing.line.workdir, 'public'));
    for (const [name, text] of Object.entries({ fits: 'abc', large: 'abcd' }))
      writeFileSync(join(sharing.line.workdir, 'public', name), text);
    const { frames } = await (await sharing.submit('Share them.')).untilClosed();
    const answers = frames
      .filter(({ event }) => event === 'artifact')
      .map(async ({ data }) => {
        const [json = ''] = (data['artifact'] as { content: string }).content.match(/\{.*\}/) ?? [];
        const { handle, audience } = JSON.parse(json) as { handle: string; audience: string };
        const headers = { 'x-svc-audience': audience };
        return (await fetch(`http://${sharing.line.url}/resources/peer/${handle}`, { headers })).status;
      });
    expect(await Promise.all(answers)).toEqual([200, 413]);
  });

  it('how many tasks may wait [D1-MAN-12]', async () => {
    const holds = '- { content: [{ type: text, text: Done. }], stop_reason: end_turn, delay_ms: 600000 }\n';
    const waits = await running({
      manifest: 'lifecycle: { task_acceptance: queue, queue_depth: 2, after_task: sleep }\n',
      script: holds,
    });
    const watch = await waits.watch();
    const states: string[] = [];
    const first = await waits.send('One.');
    await watch.until(({ data }) => data['id'] === first.id);
    for (const text of ['Two.', 'Three.', 'Four.']) states.push((await waits.send(text)).status.state);
    expect(states).toEqual(['submitted', 'submitted', 'rejected']);
  });

  it('how large a file it serves, below which root [D1-MAN-29]', async () => {
    const serving = await running({ manifest: `${sleeps}exports: { files: { root: public, max_bytes: 3 } }\n` });
    mkdirSync(join(serving.line.workdir, 'public'));
    for (const [name, text] of Object.entries({ fits: 'abc', large: 'abcd' }))
      writeFileSync(join(serving.line.workdir, 'public', name), text);
    const at = `http://${serving.line.url}/resources/files/`;
    expect([(await fetch(`${at}fits`)).status, (await fetch(`${at}large`)).status]).toEqual([200, 413]);
  });

  it('which peers a file may be fetched from, and no other [D1-MAN-27]', async () => {
    const call = JSON.stringify([
      {
        type: 'tool_call',
        id: 'c1',
        name: 'fetch-peer-file',
        input: { peer: '127.0.0.1:9', handle: 'mh1.eyJ2IjoxfQ.AAAA' },
      },
    ]);
    const fetching = await running({
      manifest: `${sleeps}capabilities: { peer_fetch: { allow: ["127.0.0.1:10"] } }\n`,
      script: `- { content: ${call}, stop_reason: tool_call }\n- { content: [{ type: text, text: No. }], stop_reason: end_turn }\n`,
    });
    const { frames } = await (await fetching.submit('Fetch it.')).untilClosed();
    const artifact = frames.find(({ event }) => event === 'artifact')?.data['artifact'] as { content: string };
    expect(artifact.content).toContain('capabilities.peer_fetch.allow');
  });

  it('the whole workdir for a tool and a driver without a scope, which --explain-scope shows [D1-SCOPE-09]', async () => {
    const workspace = capsule({ manifest: 'artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\n' });
    const { stdout } = await svc(workspace, ['run', '--explain-scope', '--json']);
    expect((JSON.parse(stdout) as { preopens: unknown }).preopens).toMatchObject([
      { artifact: 'svc-tool-editor', path: '.', writable: true },
      { artifact: 'svc-driver-script', path: '.', writable: true },
    ]);
  });

  it('the name of a session for its model, which its commands have in their environment [D2-VAR-02]', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: runsCommand('echo "$SVC_SESSION_ID" > id.txt'),
      files: taskFile,
    });
    expect((await svc(workspace, ['run'])).code).toBe(0);
    const session = onlySession(workspace);
    expect(readFileSync(join(workspace.folder, 'workdir', session, 'id.txt'), 'utf8')).toBe(`${session}\n`);
  });
});

describe('the ids of a running capsule', () => {
  it('have the documented shapes, and a context keeps the sender’s own where it gives one [D1-SHAPE-01, D1-SHAPE-02, D1-SHAPE-03, D1-SHAPE-04]', async () => {
    const answering = await running({
      manifest: 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\n',
    });
    const uuid7 = '[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}';
    expect(answering.line.session_id).toMatch(/^ses_[0-9a-f]{32}$/);
    const sent = await answering.send('Go on.');
    expect(sent.id).toMatch(new RegExp(`^tsk_${uuid7}$`));
    expect(sent.contextId).toMatch(new RegExp(`^ctx_${uuid7}$`));
    const other = await rpc(answering.line.url, 'message/send', message('Go on.', 'my own'));
    expect(other).toMatchObject({ result: { contextId: 'my own' } });
  });
});
