import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { rpc, startCapsule, svc, SvcProcess } from '../support/svc-process.ts';

const capsule = useCapsules();

describe('the doors of a capsule', () => {
  it('include the card, POST / and the resource planes [D1-CORE-05, D1-HTTP-01, D1-HTTP-02, D1-HTTP-03]', async () => {
    const workspace = capsule({
      manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\nexports: { files: { root: out } }\n',
      files: taskFile,
    });
    const { process, line } = await startCapsule(workspace);
    const watch = new SvcProcess(workspace, ['watch', line.url]);
    await watch.printed(/session ended/);
    const card = await fetch(`http://${line.url}/.well-known/agent-card.json`);
    expect(await card.json()).toMatchObject({ serves: { planes: ['files'] } });
    expect(await rpc(line.url, 'tasks/get')).toMatchObject({ result: { status: { state: 'completed' } } });
    const listing = (await (await fetch(`http://${line.url}/resources/files`)).json()) as Record<string, unknown>;
    expect(listing).toMatchObject({ root: 'out', mode: 'read-only', generation: 1 });
    expect(listing['entries']).toMatchObject([{ path: 'result.txt', size_bytes: 5 }]);
    const read = await fetch(`http://${line.url}/resources/files/result.txt`);
    expect(await read.text()).toBe('Done.');
    expect((await fetch(`http://${line.url}/elsewhere`)).status).toBe(404);
    process.child.kill('SIGTERM');
    expect((await process.ended).code).toBe(0);
    const events = readTrace(tracePath(workspace, line.session_id)).map((event) => event['event_type']);
    expect(events.slice(-3)).toEqual(['resource_list', 'resource_read', 'session_end']);
  });

  it('stay shut on an export root that leaves the workdir by a link [D1-ERR-06, D3-EXPORT-07, D3-ERR-19]', async () => {
    const workspace = capsule({ manifest: 'exports: { files: { root: public } }\n', files: taskFile });
    const work = join(workspace.folder, 'work');
    mkdirSync(work);
    symlinkSync('/etc', join(work, 'public'));
    const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', work]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error\[E-CAP-007\]: exports\.files\.root "public" resolves outside the accessible workdir/,
    );
  });
});

describe('a running capsule', () => {
  const queue = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';

  it('can be listed, followed and stopped [D1-CLI-16, D1-CLI-17, D1-MAN-13]', async () => {
    const workspace = capsule({ manifest: queue, files: taskFile });
    const { process, line } = await startCapsule(workspace);
    const listed = await svc(workspace, ['ps', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject({ session_id: line.session_id, url: line.url, name: 'demo' });
    const watch = new SvcProcess(workspace, ['watch', line.session_id.slice(-8)]);
    await watch.printed(/\[completed\] session ended/);
    const stopped = await svc(workspace, ['stop']);
    expect(stopped.stderr).toBe(`stopped ${line.session_id}: 0 tasks canceled\n`);
    expect((await process.ended).code).toBe(0);
    const watched = await watch.ended;
    expect(watched.code).toBe(0);
    // A replay from 0 has no frame with id 0, which is the first turn's.
    expect(watched.stdout).toBe('| Done.\n[completed] session ended\n');
    expect(watched.stderr).toBe('the capsule closed its stream\n');
    expect((await svc(workspace, ['ps'])).stderr).toBe('no capsule is running\n');
  });

  it('loses a watcher whose own reader went away, without a word', async () => {
    const workspace = capsule({ manifest: queue, files: taskFile });
    const { process } = await startCapsule(workspace);
    const first = new SvcProcess(workspace, ['watch']);
    await first.printed(/session ended/);
    const unread = new SvcProcess(workspace, ['watch']);
    unread.child.stdout?.destroy();
    expect(await unread.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    process.child.kill('SIGTERM');
    expect((await process.ended).code).toBe(0);
    await first.ended;
  });

  it('ends with 1 when a signal cancels its task', async () => {
    const workspace = capsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script: runsCommand('true', 'exec sleep 1000'),
      files: taskFile,
    });
    const { process, line } = await startCapsule(workspace);
    const watch = new SvcProcess(workspace, ['watch']);
    await watch.printed(/\[working\] inference turn 2/);
    process.child.kill('SIGTERM');
    expect((await process.ended).code).toBe(1);
    await watch.ended;
    expect(watch.stdout).toContain('[canceled] task canceled\n');
    expect(readTrace(tracePath(workspace, line.session_id)).at(-1)).toMatchObject({
      event_type: 'session_end',
      status: 'failed',
    });
  });

  it('loses its watcher with the last id it saw when it is killed', async () => {
    const workspace = capsule({ manifest: queue, files: taskFile });
    const { process } = await startCapsule(workspace);
    const watch = new SvcProcess(workspace, ['watch']);
    await watch.printed(/session ended/);
    process.child.kill('SIGKILL');
    const { code, stderr } = await watch.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error\[E-IO-003\]: the connection to 127\.0\.0\.1:\d+ was lost; the last event id seen was 2\nhint: run the command again to reattach\n$/,
    );
    expect((await svc(workspace, ['ps'])).stderr).toBe('no capsule is running\n');
  });
});
