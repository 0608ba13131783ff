import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { useCapsules } from '../support/capsule-folders.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import { ViewProcess } from '../support/view-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
const isRoot = process.getuid?.() === 0;
const somebody = 1000;

function lines(stdout: string): readonly Readonly<Record<string, unknown>>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The ids that a command lists, in its order. */
async function listed(workspace: Workspace, args: readonly string[]): Promise<readonly unknown[]> {
  const { stdout } = await svc(workspace, [...args, '--json']);
  return lines(stdout).map(({ session_id: id }) => id);
}

/** Commands are held to nothing in these tests. */
const unheld = /^warning\[W-SEC-032\]: capabilities\.project is not enforced on commands[^]*?\nhint: .*\n/;

/** The session of a run that is over. */
async function ran(workspace: Workspace, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await svc(workspace, ['run', '--output', 'json', '--task', 'Go.', ...args]);
  expect({ code, stderr: stderr.replace(unheld, '') }).toEqual({ code: 0, stderr: '' });
  return (JSON.parse(stdout) as { session: string }).session;
}

const reads = 'capabilities: { project: { path: . } }\n';

describe('a capsule that works in the folder of its manifest', () => {
  it('leaves nothing there, and every command finds its sessions, also beside those of before', async () => {
    const workspace = capsule();
    const before = await ran(workspace);
    const written = readdirSync(workspace.folder).toSorted();
    writeFileSync(
      join(workspace.folder, 'svc.yaml'),
      `${readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')}${reads}`,
    );
    const now = await ran(workspace);
    expect(readdirSync(workspace.folder).toSorted()).toEqual(written);
    expect(readdirSync(join(workspace.folder, 'workdir'))).toEqual([before]);
    for (const command of [['sessions'], ['trace', 'list']])
      expect(await listed(workspace, command)).toEqual([now, before]);
    for (const id of [now, before]) {
      expect((await svc(workspace, ['trace', 'show', id.slice(-8)])).code).toBe(0);
      expect((await svc(workspace, ['logs', id.slice(-8)])).code).toBe(0);
    }
    expect((await svc(workspace, ['trace', 'show'])).stdout).toContain(now);
    const view = await ViewProcess.start(workspace);
    const { sessions } = JSON.parse((await view.ask('/sessions')).text) as { sessions: { session_id: string }[] };
    expect(sessions.map(({ session_id: id }) => id)).toEqual([now, before]);
    const pruned = async (keep: number): Promise<readonly unknown[]> =>
      lines((await svc(workspace, ['prune', '--keep', String(keep), '--yes', '--json'])).stdout).map(
        ({ name, outcome }) => [name, outcome],
      );
    expect(await pruned(1)).toEqual([[before, 'removed']]);
    expect(await pruned(0)).toEqual([[now, 'removed']]);
    expect(await listed(workspace, ['sessions'])).toEqual([]);
  });

  it('shows its folder in the report, also where it would be refused', async () => {
    const workspace = capsule({ manifest: 'capabilities: { project: { mask: [keys] } }\n', files: { keys: 'secret' } });
    const refused = await svc(workspace, ['run', '--explain-scope']);
    expect(refused.stdout).toContain(
      'svc run would be refused (E-CAP-028, capabilities.project: names no path, and no folder was given)',
    );
    const { stdout } = await svc(workspace, ['run', '--explain-scope', '--project', '.']);
    expect(stdout).toContain(`${workspace.folder}, as project/, read only`);
    expect(stdout).toMatch(/masked: keys\n +masked: svc\.yaml\n/);
    expect(existsSync(join(workspace.home, '.svc', 'folders'))).toBe(false);
  });

  it.skipIf(!isRoot)(
    'needs a folder that this user may read, and write in to change it (skipped without root)',
    async () => {
      const workspace = capsule({
        manifest: 'capabilities: { project: { path: closed, write: true } }\n',
        files: { 'closed/file': '' },
      });
      for (const place of [join(workspace.folder, '..'), workspace.folder]) chmodSync(place, 0o755);
      const said = async (mode: number): Promise<string> => {
        chmodSync(join(workspace.folder, 'closed'), mode);
        return (await svc(workspace, ['run', '--explain-scope'], { uid: somebody })).stdout;
      };
      expect(await said(0o755)).toContain('closed" cannot be written in by this user: permission denied');
      expect(await said(0o700)).toContain('closed" cannot be read by this user: permission denied');
    },
  );
});

describe('svc run --project', () => {
  const manifest = 'capabilities: { project: {}, shell: { allow: [sh] } }\n';

  it('gives a capsule the folder that it names, and keeps the session beside the manifest', async () => {
    const workspace = capsule({ manifest, script: runsCommand('cat note') });
    const folder = join(workspace.folder, '..', 'shop');
    mkdirSync(folder);
    writeFileSync(join(folder, 'note'), 'of the shop\n');
    const id = await ran(workspace, '--project', '../shop');
    expect(readdirSync(folder)).toEqual(['note']);
    const trace = readFileSync(join(workspace.folder, '.svc/sessions', id, 'trace.jsonl'), 'utf8');
    expect(trace).toMatch(/"event_type":"shell".*"exit_code":0/);
    expect(trace).toContain(`"project_folder":{"path":"${folder}","writable":false,"masked":[]}`);
  });

  it.skipIf(!hasPseudoTerminals())('has a chat and a server of tasks take the folder too (needs python3)', async () => {
    const staysUp = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';
    const workspace = capsule({ manifest: `${manifest}${staysUp}`, script: runsCommand('cat note') });
    const folder = join(workspace.folder, '..', 'shop');
    mkdirSync(folder);
    writeFileSync(join(folder, 'note'), 'of the shop\n');
    const chat = new TerminalProcess(workspace, ['chat', '--trust', '--no-history', '--project', '../shop']);
    onTestFinished(() => void chat.child.kill('SIGKILL'));
    await chat.shows(/^>$/);
    chat.type('look\r');
    await chat.shows(/of the shop/);
    chat.type('\u0004');
    await chat.shows(/^ {2}s stop {3}k keep it running/);
    chat.type('s');
    expect(await chat.ended).toBe(0);
    const client = new Client({ name: 'test', version: '1' });
    const env = { PATH: process.env['PATH'] ?? '', HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' };
    const args = [program, 'serve', 'mcp', '--project', '../shop'];
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args, cwd: workspace.folder, env, stderr: 'ignore' }),
    );
    onTestFinished(() => client.close());
    const { structuredContent } = await client.callTool({ name: 'demo', arguments: { task: 'look' } });
    expect(structuredContent).toMatchObject({ state: 'completed' });
    await client.close();
    expect(readdirSync(folder)).toEqual(['note']);
    const traces = readdirSync(join(workspace.folder, '.svc/sessions')).map((id) =>
      readFileSync(join(workspace.folder, '.svc/sessions', id, 'trace.jsonl'), 'utf8'),
    );
    expect(traces).toHaveLength(2);
    for (const trace of traces) {
      expect(trace).toContain(`"project_folder":{"path":"${folder}","writable":false,"masked":[]}`);
      expect(trace).toMatch(/"event_type":"shell".*"exit_code":0/);
    }
  });

  it('keeps nothing in a folder that holds the manifest', async () => {
    const workspace = capsule({ manifest });
    mkdirSync(join(workspace.folder, 'tools'));
    for (const name of ['svc.yaml', 'script.yaml'])
      writeFileSync(join(workspace.folder, 'tools', name), readFileSync(join(workspace.folder, name)));
    const id = await ran(workspace, '--manifest', 'tools/svc.yaml', '--project', '.');
    expect(readdirSync(join(workspace.folder, 'tools')).toSorted()).toEqual(['script.yaml', 'svc.yaml']);
    expect(await listed(workspace, ['sessions', '--manifest', 'tools/svc.yaml'])).toEqual([id]);
  });

  it.each([
    [
      'a capsule without the grant',
      '',
      ['run', '--project', '.'],
      1,
      /^error\[E-CAP-028\]: --project names a folder, and .*svc\.yaml has no capabilities\.project\n/,
    ],
    ['an empty name', manifest, ['run', '--project', ''], 2, /error: option '--project <dir>' argument '' is invalid/],
  ] as const)('refuses %s', async (_, lines, args, expected, said) => {
    const { code, stderr } = await svc(capsule({ manifest: lines }), args);
    expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringMatching(said) });
  });
});
