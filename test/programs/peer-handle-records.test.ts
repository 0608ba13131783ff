import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { tracePath } from '../support/capsule-folders.ts';
import { calling, type NamedCall, obedientCapsule } from '../support/obedient-capsule.ts';
import { svc } from '../support/svc-process.ts';
import { type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

const secret = 'pTDJk5BE2O9PVek29X10kprx7horPtESn12_-i8DyjQ';
const handle = `mh1.eyJ2IjoxLCJpc3MiOiJzZXNfMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYiLCJwIjoicmVwb3J0cy9xMy5jc3YiLCJleHAiOjE3MDAwMDAwMDAwMDAsIm4iOiIwMDAxMDIwMzA0MDUwNjA3MDgwOTBhMGIwYzBkMGUwZiJ9.${secret}`;
const shown = '<handle:39158f9a8a7c005d>';

const manifest = `lifecycle: { task_acceptance: queue, after_task: sleep, queue_depth: 4 }
capabilities:
  shell: { allow: [sh] }
  plan: { submit: true }
  peer_fetch: { allow: [localhost] }
exports: { files: { root: out }, peer_files: { root: out, max_ttl: 15m } }
`;

async function started(): Promise<StreamedCapsule> {
  return await capsules.from(obedientCapsule('keeper', manifest));
}

/** Runs a task to its end. */
async function run(capsule: StreamedCapsule, calls: readonly NamedCall[], contextId?: string): Promise<void> {
  const stream = await capsule.submit(calling(...calls), contextId);
  await stream.until(({ event, data }) => event === 'status' && data['final'] === true);
}

function traceOf(capsule: StreamedCapsule): string {
  return readFileSync(tracePath(capsule.workspace, capsule.line.session_id), 'utf8');
}

function lineOf(capsule: StreamedCapsule, type: string): Readonly<Record<string, unknown>> {
  const line = capsule.trace.find((event) => event['event_type'] === type);
  if (line === undefined) throw new Error(`no ${type} in ${traceOf(capsule)}`);
  return line;
}

describe('a handle in a record', () => {
  it.each<[string, NamedCall, string, Readonly<Record<string, unknown>>]>([
    [
      'the call that is for it',
      ['fetch-peer-file', { peer: 'localhost:1', handle }],
      'tool_call',
      { arguments: { peer: 'localhost:1', handle: shown } },
    ],
    [
      'that call refused',
      ['fetch-peer-file', { peer: handle, handle }],
      'peer_file_fetch',
      { handle_id: '39158f9a8a7c005d', peer: shown, outcome: 'invalid_peer' },
    ],
    ['a command', ['sh', { command: `: x${handle} 'y'` }], 'shell', { arguments: { command: `: x${shown} 'y'` } }],
    [
      'an escape in a command',
      ['sh', { command: `: ${handle.replaceAll('.', '%2e')}` }],
      'shell',
      { arguments: { command: `: ${shown}` } },
    ],
    [
      'JSON in a command',
      ['sh', { command: `: '${JSON.stringify({ handle })}'` }],
      'shell',
      { arguments: { command: `: '{"handle":"${shown}"}'` } },
    ],
    [
      'a tool that is none',
      [handle, { [handle]: [handle] }],
      'tool_call',
      { tool_name: shown, arguments: { [shown]: [shown] } },
    ],
    [
      'a step of a plan',
      ['submit-plan', { id: 'p', steps: [{ id: 's', shell: 'sh', input: `: ${handle}` }] }],
      'plan_step',
      { arguments: { command: `: ${shown}` } },
    ],
    [
      'the error of a model',
      ['fail', `cannot read ${handle}`],
      'task_end',
      { state: 'failed', error: `cannot read ${shown}` },
    ],
  ])('shows its id in place of %s [D3-TRACE-07] [D3-HANDLE-10]', async (_, call, type, fields) => {
    const capsule = await started();
    await run(capsule, [call], `context ${handle}`);
    expect(lineOf(capsule, type)).toMatchObject(fields);
    const received = lineOf(capsule, 'task_received');
    expect(received['context_id']).toBe(`context ${shown}`);
    expect(received['text']).toContain('39158f9a8a7c005d');
    expect(traceOf(capsule)).not.toContain(secret);
  });

  it('shows its id for a request, wherever it stands in the path [D3-TRACE-01] [D3-TRACE-07]', async () => {
    const capsule = await started();
    const places = [`files/${handle}`, `files/${handle.replaceAll('.', '%2E')}%ff`, `peer/${handle}`, `none/${handle}`];
    for (const place of places) await fetch(`http://${capsule.line.url}/resources/${place}`);
    expect(capsule.trace.slice(1)).toMatchObject([
      { event_type: 'resource_read', path: shown, outcome: 'not_found' },
      { event_type: 'resource_read', outcome: 'outside_root' },
      { event_type: 'peer_handle_redeem', handle_id: '39158f9a8a7c005d', outcome: 'missing_audience', status: 400 },
      { event_type: 'resource_read', path: `/resources/none/${shown}`, outcome: 'not_found' },
    ]);
    expect(traceOf(capsule)).not.toContain(secret);
  });

  it('appears in no file beside the trace either, and in no error [D3-HANDLE-10] [D3-AUTH-11]', async () => {
    const capsule = await started();
    await run(capsule, [['submit-plan', { id: 'p', steps: [{ id: 's', shell: 'sh', input: `echo ${handle}` }] }]]);
    await run(capsule, [['fail', `cannot read ${handle}`]]);
    const result = readFileSync(join(capsule.line.workdir, 'out', 'result.txt'), 'utf8');
    expect(result).toBe(`error: cannot read ${shown}`);
    const { stderr } = await capsule.terminate();
    expect(stderr).not.toContain(secret);
    const session = join(capsule.workspace.folder, '.svc', 'sessions', capsule.line.session_id);
    const kept = readdirSync(session, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'));
    expect(kept).toEqual(['plans/1-p.json']);
    expect(readFileSync(join(session, 'plans/1-p.json'), 'utf8')).toContain(shown);
    expect(readFileSync(join(session, 'plans/1-p.json'), 'utf8')).not.toContain(secret);
  });

  it('never appears on stderr', async () => {
    const workspace = obedientCapsule('keeper', `exports: { peer_files: { root: '../${handle}' } }\n`);
    const { code, stderr } = await svc(workspace, ['run', '--task', handle, '--manifest', handle]);
    workspace.remove();
    expect(code).toBe(1);
    expect(stderr).toContain(shown);
    expect(stderr).not.toContain(secret);
  });

  it('never appears in the report of a bug [D3-HANDLE-10]', async () => {
    const bug = `process.on('newListener', (name) => {
      if (name === 'uncaughtException') setImmediate(() => { throw new Error('cannot read ${handle}'); });
    });`;
    const workspace = obedientCapsule('keeper', '');
    const file = join(workspace.folder, 'bug.cjs');
    writeFileSync(file, bug);
    const { code, stderr } = await svc(workspace, ['list'], { env: { NODE_OPTIONS: `--require ${file}` } });
    workspace.remove();
    expect(code).toBe(70);
    expect(stderr).toContain('this is a bug in svc');
    expect(stderr).toContain(`cannot read ${shown}`);
    expect(stderr).not.toContain(secret);
  });

  it.each([[[handle]], [['run', '--containment', handle]], [['run', `--${handle}`]], [['explain', handle]]])(
    'never appears in the error about a wrong command line: %j [D3-HANDLE-10]',
    async (args) => {
      const workspace = obedientCapsule('keeper', '');
      const { code, stdout, stderr } = await svc(workspace, args);
      workspace.remove();
      expect([1, 2]).toContain(code);
      expect(stderr).toContain(shown);
      expect(stdout + stderr).not.toContain(secret);
    },
  );
});
