import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { calling, obedientCapsule, type NamedCall } from '../support/obedient-capsule.ts';
import { startCapsule, type SvcOptions } from '../support/svc-process.ts';
import { type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';
import type { Workspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const staysUp = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';
const shares = 'exports: { peer_files: { root: out, max_ttl: 15m } }\n';

/** A capsule that shares files of `out/` with every listener of this machine. */
async function minter(manifest = '', env?: SvcOptions['env']): Promise<StreamedCapsule> {
  const network = '{ network: { allow: [localhost] }, shell: { allow: [sh] } }';
  const workspace = obedientCapsule('minter', `${staysUp}${shares}capabilities: ${network}\n${manifest}`);
  return await capsules.from(workspace, env);
}

/** A capsule that may fetch from every listener of this machine. */
async function fetcher(name = 'fetcher', env?: SvcOptions['env']): Promise<StreamedCapsule> {
  const workspace = obedientCapsule(name, `${staysUp}capabilities: { peer_fetch: { allow: [localhost] } }\n`);
  return await capsules.from(workspace, env);
}

/** What the model was answered by the last tool it called. */
async function answerOf(capsule: StreamedCapsule, ...calls: readonly NamedCall[]): Promise<string> {
  const stream = await capsule.submit(calling(...calls));
  await stream.until(({ event, data }) => event === 'status' && data['final'] === true);
  return readFileSync(join(capsule.line.workdir, 'out', 'result.txt'), 'utf8');
}

/** The same, of a call that passed. */
async function resultOf(
  capsule: StreamedCapsule,
  ...calls: readonly NamedCall[]
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await answerOf(capsule, ...calls);
  const [json] = /\{.*\}/.exec(answer) ?? [];
  if (json === undefined) throw new Error(`no result: ${answer}`);
  return JSON.parse(json) as Readonly<Record<string, unknown>>;
}

async function share(capsule: StreamedCapsule, peer: StreamedCapsule): Promise<string> {
  put(capsule, 'report.txt', 'third quarter');
  const { handle } = await resultOf(capsule, ['share-file', { path: 'report.txt', peer: peer.line.url }]);
  return String(handle);
}

function put(capsule: StreamedCapsule, name: string, text: string): void {
  mkdirSync(join(capsule.line.workdir, 'out'), { recursive: true });
  writeFileSync(join(capsule.line.workdir, 'out', name), text);
}

function eventsOf(capsule: StreamedCapsule, ...types: readonly string[]): readonly Readonly<Record<string, unknown>>[] {
  return capsule.trace.filter(({ event_type: type }) => types.includes(String(type)));
}

function toolsOf(capsule: StreamedCapsule): unknown {
  return eventsOf(capsule, 'session_start')[0]?.['tools_declared'];
}

describe('a file between two capsules', () => {
  it('goes from one to the other, and to no third [D1-TRACE-02] [D3-HANDLE-04] [D3-PLANE-04] [D3-TOOL-01] [D3-TOOL-08] [D3-TOOL-10] [D3-TOOL-11] [D3-TOOL-12] [D3-PEER-02] [D3-AUTH-09] [D3-HANDLE-15] [D3-TRACE-03] [D3-TRACE-04] [D3-TRACE-05] [D3-TRACE-06]', async () => {
    const [alice, bob, carol] = await Promise.all([minter(), fetcher(), fetcher('carol')]);
    put(alice, 'report.txt', 'third quarter');
    const shared = await resultOf(alice, ['share-file', { path: 'report.txt', peer: bob.line.url }]);
    expect(Object.keys(shared)).toEqual(['handle', 'handle_id', 'expires_at_ms', 'audience']);
    expect(shared['audience']).toBe(`fetcher@${bob.line.url}`);
    const [, payload = ''] = String(shared['handle']).split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({ iss: alice.line.session_id });
    const call = ['fetch-peer-file', { peer: alice.line.url, handle: shared['handle'] }] as const;
    const fetched = await resultOf(bob, call);
    const path = `peer-in/${String(shared['handle_id'])}-report.txt`;
    expect(Object.entries(fetched)).toEqual([
      ['path', path],
      ['bytes', 13],
      ['sha256', '3304cda510a50984d5151524671854b23be7582ea0b2e0271e53b8f3e85f4359'],
      ['generation', 1],
      ['peer', alice.line.url],
    ]);
    expect(readFileSync(join(bob.line.workdir, path), 'utf8')).toBe('third quarter');
    expect(await answerOf(carol, call)).toMatch(/^handle_not_valid: The peer answered 403 handle_not_valid: /);
    const handle_id = shared['handle_id'];
    expect(eventsOf(alice, 'peer_handle_mint', 'peer_handle_redeem')).toMatchObject([
      { event_type: 'peer_handle_mint', handle_id, outcome: 'ok', path: 'report.txt' },
      { event_type: 'peer_handle_redeem', handle_id, outcome: 'ok', status: 200, bytes: 13 },
      { event_type: 'peer_handle_redeem', handle_id, outcome: 'handle_not_valid', status: 403 },
    ]);
    expect(eventsOf(bob, 'peer_file_fetch')).toMatchObject([{ handle_id, outcome: 'ok', bytes: 13 }]);
    expect(eventsOf(carol, 'peer_file_fetch')).toMatchObject([{ handle_id, outcome: 'handle_not_valid' }]);
    expect([toolsOf(alice), toolsOf(bob)]).toEqual([['sh', 'share-file'], ['fetch-peer-file']]);
  });

  it('can be had until its time is over [D3-HANDLE-12] [D3-LIMIT-05] [D3-LIMIT-06]', async () => {
    const [alice, bob] = await Promise.all([minter(), fetcher()]);
    put(alice, 'report.txt', 'third quarter');
    const input = { path: 'report.txt', peer: bob.line.url, ttl: '2s' };
    const sharing = await alice.submit(calling(['share-file', input]));
    // As soon as it is made, while the model that asked for it goes on.
    const { data } = await sharing.until(({ event }) => event === 'artifact');
    const [json = ''] = /\{.*\}/.exec((data['artifact'] as { content: string }).content) ?? [];
    const { handle, expires_at_ms: expiresAt } = JSON.parse(json) as { handle: string; expires_at_ms: number };
    const statuses: number[] = [];
    while (statuses.at(-1) !== 410 && statuses.length < 100_000) {
      const headers = { 'x-svc-audience': `fetcher@${bob.line.url}` };
      const askedAt = Date.now();
      const response = await fetch(`http://${alice.line.url}/resources/peer/${handle}`, { headers });
      await response.arrayBuffer();
      statuses.push(response.status);
      if (Date.now() < expiresAt) expect(response.status).toBe(200);
      if (askedAt > expiresAt) expect(response.status).toBe(410);
    }
    expect([...new Set(statuses)]).toEqual([200, 410]);
    expect(await answerOf(bob, ['fetch-peer-file', { peer: alice.line.url, handle }])).toBe(
      'handle_expired: The peer answered 410 handle_expired: the handle has expired; ask for a new one.',
    );
  });

  it('dies with the session that shared it, also for the next over the same workdir [D3-HANDLE-13] [D3-HANDLE-14]', async () => {
    const [alice, bob] = await Promise.all([minter(), fetcher()]);
    const handle = await share(alice, bob);
    await alice.terminate();
    const again = await relaunch(alice.workspace, alice.line.workdir);
    try {
      const call = ['fetch-peer-file', { peer: again.url, handle }] as const;
      expect(await answerOf(bob, call)).toMatch(/^handle_not_valid: /);
    } finally {
      await again.end();
    }
  });

  it('arrives while a task of the minter runs [D3-PLANE-05] [D3-PLANE-06] [D3-TRACE-04]', async () => {
    const [alice, bob] = await Promise.all([minter(), fetcher()]);
    const handle = await share(alice, bob);
    const gate = join(alice.line.workdir, 'out', 'gate');
    execFileSync('mkfifo', [gate]);
    const busy = await alice.submit(calling(['sh', { command: 'cat out/gate' }]));
    await busy.until(({ event }) => event === 'status');
    expect(await resultOf(bob, ['fetch-peer-file', { peer: alice.line.url, handle }])).toMatchObject({ bytes: 13 });
    await writeFile(gate, 'go on');
    await busy.until(({ event, data }) => event === 'status' && data['final'] === true);
    const order = eventsOf(alice, 'task_start', 'task_end', 'peer_handle_redeem').map(({ event_type: type }) => type);
    expect(order).toEqual(['task_start', 'task_end', 'task_start', 'peer_handle_redeem', 'task_end']);
  });

  it('stays behind the token of a listener, whose card is open', async () => {
    const guarded = { SVC_LISTENER_TOKEN: 'a-token-of-the-listener' };
    const [open, bob] = await Promise.all([minter(), fetcher()]);
    const alice = await capsules.from(
      obedientCapsule('minter', `${shares.replace(', max_ttl: 15m', '')}lifecycle: { task_acceptance: single }\n`),
      guarded,
    );
    const card = await fetch(`http://${alice.line.url}/.well-known/agent-card.json`);
    expect(card.status).toBe(200);
    const handle = await share(open, bob);
    expect(await answerOf(bob, ['fetch-peer-file', { peer: alice.line.url, handle }])).toBe(
      'unauthorized: The peer answered 401 unauthorized: its listener asks for a bearer token (SVC_LISTENER_TOKEN there), which this tool never sends.',
    );
    put(open, 'b.txt', 'b');
    const shared = await resultOf(open, ['share-file', { path: 'b.txt', peer: alice.line.url }]);
    expect(shared['audience']).toBe(`minter@${alice.line.url}`);
  });
});

describe('a grant that is missing', () => {
  it('leaves the tool out of what the model has [D3-TOOL-01] [D3-TOOL-02] [D3-TOOL-06]', async () => {
    const files = 'exports: { files: { root: out } }\ncapabilities: { network: { allow: [localhost] } }\n';
    const plain = await capsules.from(obedientCapsule('plain', `${staysUp}${files}`));
    expect(toolsOf(plain)).toEqual([]);
    for (const name of ['share-file', 'fetch-peer-file']) {
      expect(await answerOf(plain, [name, {}])).toBe(`there is no tool named "${name}"; there are no tools`);
    }
    const response = await fetch(`http://${plain.line.url}/resources/peer/mh1.a.b`);
    expect([response.status, await response.json()]).toMatchObject([404, { error: 'no_peer_plane' }]);
  });

  it('for the network keeps a handle from being made [D3-AUD-06]', async () => {
    const [alice, bob] = await Promise.all([
      capsules.from(obedientCapsule('minter', `${staysUp}${shares}`)),
      fetcher(),
    ]);
    put(alice, 'report.txt', 'third quarter');
    expect(await answerOf(alice, ['share-file', { path: 'report.txt', peer: bob.line.url }])).toBe(
      `peer_unreachable: The peer cannot be reached: capabilities.network.allow does not cover http://${bob.line.url}.`,
    );
    expect(eventsOf(alice, 'peer_handle_mint')).toEqual([]);
  });
});

interface Relaunched {
  readonly url: string;
  end(): Promise<unknown>;
}

async function relaunch(workspace: Workspace, workdir: string): Promise<Relaunched> {
  const { process, line } = await startCapsule(workspace, ['--workdir', workdir]);
  return {
    url: line.url,
    end: () => {
      process.child.kill('SIGTERM');
      return process.ended;
    },
  };
}
