import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ask } from '../../kit/test/http/raw-client.ts';
import { ProgramProcess } from '../../../test/support/program-process.ts';
import { makeWorkspace, type Workspace } from '../../../test/support/workspace.ts';
import { capsuleText, publishCapsule } from './published.ts';

const program = fileURLToPath(new URL('../../../bin/svc-referee.cjs', import.meta.url));

/** What a manifest says: entries of `capabilities`, as a flow mapping, and lines beside it. */
interface Declared {
  readonly grants?: string;
  readonly spawn?: readonly string[];
  readonly lines?: string;
}

interface Row {
  readonly id: string;
  readonly parent: Declared;
  readonly child: Declared;
  /** The key that the refusal names; null for what is granted. */
  readonly refused: string | null;
}

function row(id: string, parent: string | Declared, child: string | Declared, refused: string | null = null): Row {
  const declared = (grants: string | Declared): Declared => (typeof grants === 'string' ? { grants } : grants);
  return { id, parent: declared(parent), child: declared(child), refused };
}

function list(block: string, ...entries: readonly string[]): string {
  return `${block}: { allow: ${JSON.stringify(entries)} }`;
}

function opens(state: string): Declared {
  return { lines: `artifacts: [{ name: editor, version: 1.0.0, capabilities: { state: ${state} } }]` };
}

const [network, peers, shell] = [
  'capabilities.network.allow',
  'capabilities.peer_fetch.allow',
  'capabilities.shell.allow',
];
const scope = 'capabilities.filesystem.scope';
const hostRead = 'capabilities.filesystem.host_read';
const rows: readonly Row[] = [
  row('D2-ENVEL-02', list('network', 'a.example', 'b.example'), list('network', 'b.example', 'a.example')),
  row('D2-ENVEL-02', list('network', 'a.example'), list('network', 'a.example', 'c.example'), network),
  row('D2-ENVEL-02', list('network', 'a.example:80'), list('network', 'a.example:81'), network),
  row('D2-ENVEL-02', '', list('network', 'a.example'), network),
  row(
    'D2-ENVEL-03',
    list('network', 'a.example'),
    list('network', 'a.example:8080', 'http://a.example', 'https://a.example:8443'),
  ),
  row('D2-ENVEL-03', list('network', 'a.example'), list('network', 'http://sub.a.example'), network),
  row('D2-ENVEL-04', list('network', 'https://a.example'), list('network', 'https://a.example')),
  row('D2-ENVEL-04', list('network', 'https://a.example'), list('network', 'http://a.example'), network),
  row('D2-ENVEL-04', list('network', 'https://a.example'), list('network', 'a.example'), network),
  row('D2-ENVEL-05', 'network: { unix_sockets: true }', 'network: { unix_sockets: true }'),
  row('host read', 'filesystem: { host_read: [/opt] }', 'filesystem: { host_read: [/opt/sdk] }'),
  row('host read', 'filesystem: { host_read: [/opt/sdk] }', 'filesystem: { host_read: [/opt] }', hostRead),
  row('project', 'project: { write: true }', 'project: { path: src }'),
  row('project', 'project: {}', 'project: { write: true }', 'capabilities.project'),
  row('project', '', 'project: {}', 'capabilities.project'),
  row('D2-ENVEL-05', '', 'network: { unix_sockets: true }', 'capabilities.network.unix_sockets'),
  row('D2-ENVEL-06', list('peer_fetch', 'a.example'), list('peer_fetch', 'a.example:8080')),
  row('D2-ENVEL-06', list('peer_fetch', 'a.example'), list('peer_fetch', 'b.example'), peers),
  row('D2-ENVEL-06', list('network', 'a.example'), list('peer_fetch', 'a.example'), peers),
  row('D2-ENVEL-06', list('peer_fetch', 'a.example'), list('network', 'a.example'), network),
  row('D2-ENVEL-07', list('shell', 'git', 'sh'), list('shell', 'sh')),
  row('D2-ENVEL-07', list('shell', 'sh'), list('shell', 'sh', 'git'), shell),
  row('D2-ENVEL-08', { spawn: ['helper'] }, list('spawn', 'helper')),
  row('D2-ENVEL-08', {}, list('spawn', 'helper'), 'capabilities.spawn.allow'),
  row('D2-ENVEL-09', list('env', 'LANG', 'TZ'), list('env', 'TZ')),
  row('D2-ENVEL-09', list('env', 'LANG'), list('env', 'lang'), 'capabilities.env.allow'),
  row('D2-ENVEL-10', '', 'filesystem: { scope: out/deep }'),
  row('D2-ENVEL-11', 'filesystem: { scope: out }', 'filesystem: { scope: out }'),
  row('D2-ENVEL-11', 'filesystem: { scope: out }', 'filesystem: { scope: out/deep }'),
  row('D2-ENVEL-11', 'filesystem: { scope: out }', 'filesystem: { scope: outer }', scope),
  row('D2-ENVEL-11', 'filesystem: { scope: out }', '', scope),
  row('D2-ENVEL-12', 'filesystem: { workdir_exec: true }', 'filesystem: { workdir_exec: true }'),
  row('D2-ENVEL-12', '', 'filesystem: { workdir_exec: true }', 'capabilities.filesystem.workdir_exec'),
  row('D2-ENVEL-13', opens('{ store: [notes, drafts] }'), opens('{ store: drafts }')),
  row('D2-ENVEL-13', opens('{ store: notes }'), opens('{ store: [notes, drafts] }'), 'capabilities.state.store'),
  row('D2-ENVEL-14', opens('{}'), opens('{}'), 'capabilities.state.store'),
  row('D2-ENVEL-15', 'containment: scoped', 'containment: sealed'),
  row('D2-ENVEL-15', 'containment: scoped', 'containment: advisory', 'capabilities.containment'),
  row('D2-ENVEL-15', 'containment: scoped', '', 'capabilities.containment'),
];

/** Grants of the parent do not change what is refused, nor does what is refused get less. */
const wide = list('network', 'a.example');

let workspace: Workspace;
let daemon: ProgramProcess;
let port = 0;

function manifest({ grants = '', lines = '' }: Declared, spawn: readonly string[]): string {
  const entries = [...(spawn.length === 0 ? [] : [list('spawn', ...spawn)]), ...(grants === '' ? [] : [grants])];
  return `${lines}\ncapabilities: { ${entries.join(', ')} }`;
}

async function post(
  path: string,
  header: string | null,
  body: unknown,
): Promise<{ status: number; json: Record<string, string> }> {
  const headers = header === null ? [] : [header];
  const { status, body: text } = await ask(port, `POST ${path} HTTP/1.1`, { headers, body: JSON.stringify(body) });
  return { status, json: JSON.parse(text) as Record<string, string> };
}

/** What a session of this parent is answered when it asks for this child. */
async function asks(parent: string, child: string): Promise<{ status: number; json: Record<string, string> }> {
  const session = `ses_${parent}`;
  const { json } = await post('/register', null, { session_id: session, name: parent, version: '1.0.0' });
  return await post('/spawn', `x-svc-spawn-credential: ${json['credential']}`, { name: child, version: '1.0.0' });
}

beforeAll(async () => {
  workspace = makeWorkspace({});
  const root = workspace.folder;
  for (const [index, { parent, child }] of rows.entries()) {
    const [lead, worker] = [`lead-${index}`, `worker-${index}`];
    const held = capsuleText(manifest(parent, [worker, ...(parent.spawn ?? [])]), lead);
    await publishCapsule(root, held, { name: lead });
    await publishCapsule(root, capsuleText(manifest(child, []), worker), { name: worker });
  }
  const narrow = capsuleText(manifest({ grants: wide }, ['greedy']), 'lead-narrow');
  await publishCapsule(root, narrow, { name: 'lead-narrow' });
  const greedy = list('network', 'a.example', 'b.example');
  await publishCapsule(root, capsuleText(manifest({ grants: greedy }, []), 'greedy'), { name: 'greedy' });
  const leads = ['lead-narrow', ...rows.map((_, index) => `lead-${index}`)];
  const allow = leads.flatMap((name) => ['--spawn-allow', name]);
  const args = ['--port', '0', '--registry-path', root, '--max-live-capsules', '256', ...allow];
  daemon = new ProgramProcess(program, args, { env: { HOME: root } });
  port = Number((await daemon.printed(/ listens on 127\.0\.0\.1:(\d+), .*\n/))[1]);
});

afterAll(async () => {
  daemon.child.kill('SIGKILL');
  await daemon.ended;
  workspace.remove();
});

describe('a running referee', () => {
  const clauses = [...new Set(rows.map(({ id }) => id))];

  it.each(clauses)('holds what a child declares to what its parent does, as [%s] says', async (clause) => {
    for (const [index, { id, refused }] of rows.entries()) {
      if (id !== clause) continue;
      const { status, json } = await asks(`lead-${index}`, `worker-${index}`);
      const said = `${status} ${json['error'] ?? ''}`;
      const wanted = refused === null ? /^200 $/ : new RegExp(`^403 .*: ${refused.replaceAll('.', '\\.')}: `);
      expect(said, JSON.stringify(rows[index])).toMatch(wanted);
    }
  });

  it('refuses what is too much and grants nothing less in its place [D2-ENVEL-16]', async () => {
    const { status, json } = await asks('lead-narrow', 'greedy');
    expect([status, Object.keys(json)]).toEqual([403, ['error']]);
  });
});
