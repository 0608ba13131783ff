import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { JournalReader } from '@svc/record/journal/journal-reader.ts';
import { RecordedSession } from '../../packages/record/test/journal/recorded-session.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { startCapsule, svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const killedAtUnlink = fileURLToPath(new URL('../support/killed-at-unlink.cjs', import.meta.url));
const workspaces: Workspace[] = [];

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

function capsule(keep: string, more = ''): Workspace {
  const workspace = scriptCapsule({ manifest: `trace: { capture: content, keep: ${keep} }\n${more}` });
  workspaces.push(workspace);
  return workspace;
}

const sleeps = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';

async function run(workspace: Workspace, ...args: readonly string[]): Promise<SvcEnd> {
  return await svc(workspace, ['run', '--task', 'Go.', ...args]);
}

const sessionsOf = ({ folder }: Workspace): string => join(folder, '.svc', 'sessions');

function journals(workspace: Workspace): readonly string[] {
  return readdirSync(sessionsOf(workspace)).filter((id) =>
    existsSync(join(sessionsOf(workspace), id, 'journal.jsonl')),
  );
}

/** A session that ended before all others. */
function old(workspace: Workspace, session: string, bodies = 1): string {
  const recorded = new RecordedSession(workspace.folder, { session });
  for (let body = 0; body < bodies; body += 1) recorded.task(`${session} ${body} ${'x'.repeat(70_000)}`).taskEnd();
  const { folder } = recorded.close();
  utimesSync(join(folder, 'journal.jsonl'), 1_700_000_000, 1_700_000_000);
  return folder;
}

describe('a session that records itself', () => {
  it('removes journals that are beyond trace.keep, and leaves traces', async () => {
    const workspace = capsule('{ sessions: 2 }');
    const plain = await run(workspace);
    expect(plain).toMatchObject({ code: 0, stderr: '' });
    const [first = ''] = readdirSync(sessionsOf(workspace));
    const yesterday = Date.now() / 1000 - 86_400;
    utimesSync(join(sessionsOf(workspace), first, 'journal.jsonl'), yesterday, yesterday);
    expect(await run(workspace, '-v')).toMatchObject({ code: 0, stderr: '' });
    expect(journals(workspace)).toHaveLength(2);

    const third = await run(workspace, '-v');
    expect(third.code).toBe(0);
    expect(third.stderr).toMatch(/^trace\.keep: removed 1 journal of earlier sessions, \d{4} bytes\n$/);
    expect(journals(workspace)).toHaveLength(2);
    expect(journals(workspace)).not.toContain(first);
    expect(readdirSync(join(sessionsOf(workspace), first)).toSorted()).toEqual(['journal.removed', 'trace.jsonl']);

    const rows = (await svc(workspace, ['trace', 'list'])).stdout.split('\n');
    expect(rows.filter((row) => row.endsWith(' removed'))).toEqual([expect.stringContaining(first.slice(-4))]);
    const lines = (await svc(workspace, ['trace', 'list', '--json'])).stdout.split('\n').slice(0, -1);
    const facts = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(facts.find(({ session_id: id }) => id === first)).toMatchObject({
      journal: null,
      journal_removed_at_ms: expect.any(Number) as number,
      status: 'ok',
      tasks: 1,
    });
    const steps = await svc(workspace, ['trace', 'steps', first]);
    expect(steps).toMatchObject({ code: 1, stdout: '' });
    expect(steps.stderr).toMatch(
      /^error\[E-RUN-071\]: the journal of the session \S+ was removed on 20\d\d-\S+ \d\d:\d\d\n/,
    );
  });

  it('leaves the journal of a session that runs, whatever command looks, and takes it once it was killed', async () => {
    const workspace = capsule('{ sessions: 1 }', sleeps);
    const elsewhere = join(workspace.folder, '..', 'other-home');
    mkdirSync(elsewhere);
    const { process: other, line } = await startCapsule(workspace, [], { env: { HOME: elsewhere } });
    await expect.poll(() => journals(workspace)).toEqual([line.session_id]);
    const gone = old(workspace, '1');
    const removed = await svc(workspace, ['trace', 'rm', line.session_id]);
    expect(removed.stderr).toMatch(/^error\[E-RUN-077\]: the session ses_[0-9a-f]{32} runs\n/);

    const another = await startCapsule(workspace);
    await expect.poll(() => existsSync(join(gone, 'journal.jsonl'))).toBe(false);
    another.process.child.kill('SIGTERM');
    await another.process.ended;
    expect(journals(workspace).toSorted()).toEqual([another.line.session_id, line.session_id].toSorted());
    expect((await svc(workspace, ['trace', 'list'])).stdout).toContain(' running ');

    other.child.kill('SIGKILL');
    await other.ended;
    expect((await svc(workspace, ['trace', 'list'])).stdout).toContain(' crashed ');
    const last = await startCapsule(workspace);
    await expect.poll(() => journals(workspace)).toEqual([last.line.session_id]);
    last.process.child.kill('SIGTERM');
    await last.process.ended;
  });

  it('leaves no half of a journal where it is killed, and the next one brings it to an end', async () => {
    const workspace = capsule('{ sessions: 1 }', sleeps);
    const folders = Array.from({ length: 12 }, (_, index) => old(workspace, String(index + 1), 40));
    // In the middle of the second.
    const env = { NODE_OPTIONS: `--require ${killedAtUnlink}`, KILL_AT: '100' };
    expect(await svc(workspace, ['run', '--json'], { env })).toMatchObject({ signal: 'SIGKILL' });
    const begun = folders.filter((folder) => existsSync(join(folder, 'journal.removed')));
    expect(begun).toHaveLength(2);
    for (const folder of folders) {
      const held = HeldDirectory.at(folder);
      const reader = JournalReader.open(held, null);
      if (reader !== null) {
        const scan = reader.scan(['body']);
        const texts = [...scan.records()].map(({ record }) => reader.body(record.sha256).kind);
        expect(scan.damage).toBeNull();
        expect(new Set(texts)).toEqual(new Set(['text']));
        reader.close();
      }
      held.close();
    }
    expect(await svc(workspace, ['trace', 'list'])).toMatchObject({ code: 0, stderr: '' });

    const next = await startCapsule(workspace);
    await expect
      .poll(() => folders.flatMap((folder) => readdirSync(folder)), { timeout: 10_000 })
      .toEqual(folders.map(() => 'journal.removed'));
    next.process.child.kill('SIGTERM');
    await next.process.ended;
  });

  it('gets an error for words that trace.keep does not know', async () => {
    const workspace = capsule('{ sessions: 0, age: 30 days, bytes: 2G }');
    const { code, stderr } = await run(workspace);
    expect(code).toBe(1);
    expect(stderr).toContain('trace.keep.sessions must be');
    expect(stderr).toContain('trace.keep.age must be whole seconds or a number with s, m, h or d, not "30 days"');
    expect(stderr).toContain('trace.keep.bytes must be whole bytes or a whole number with Ki, Mi or Gi, not "2G"');
    expect(stderr.match(/E-MAN-003/g)).toHaveLength(3);
    expect(existsSync(sessionsOf(workspace))).toBe(false);
  });

  it('removes nothing while it records nothing', async () => {
    const workspace = capsule('{ sessions: 1 }');
    const folder = old(workspace, '1');
    expect(await run(workspace, '--capture', 'none')).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'journal.jsonl')).length).toBeGreaterThan(0);
    expect(await run(workspace)).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, 'journal.jsonl'))).toBe(false);
  });
});
