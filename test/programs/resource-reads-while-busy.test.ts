import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { Gate } from '../support/gate.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { rpc, startCapsule, SvcProcess } from '../support/svc-process.ts';
import { get } from '../../packages/session/test/files/exported-workdir.ts';

const capsule = useCapsules();

const manifest = `capabilities: { shell: { allow: [sh] } }
lifecycle: { task_acceptance: queue, after_task: sleep, shell_grace_secs: 600 }
exports: { files: { root: out } }
`;

it('a capsule answers reads and listings while a turn runs, and counts a task at its end [D3-PLANE-05] [D3-PLANE-06] [D3-GEN-01] [D3-GEN-02] [D3-GEN-04] [D3-GEN-05] [D3-CONS-04]', async () => {
  const workspace = capsule({ manifest, script: runsCommand(Gate.command), files: taskFile });
  const work = join(workspace.folder, 'work');
  mkdirSync(join(work, 'out'), { recursive: true });
  writeFileSync(join(work, 'out', 'kept'), 'kept');
  const gate = new Gate(work);
  const { process, line } = await startCapsule(workspace, ['--workdir', work]);
  const port = portOf(line.url);
  await gate.reached();
  const turns = (): string[] =>
    readTrace(tracePath(workspace, line.session_id)).flatMap(({ event_type: type }) =>
      type === 'inference' ? [type] : [],
    );
  const before = turns();

  const busy = await get(port, '/resources/files/kept');
  expect(busy).toMatchObject({ status: 200, body: 'kept' });
  expect(busy.headers['x-svc-generation']).toBe('0');
  expect(JSON.parse((await get(port, '/resources/files')).body)).toMatchObject({
    generation: 0,
    entries: [{ path: 'kept' }],
  });
  expect(await rpc(line.url, 'tasks/get')).toMatchObject({ result: { status: { state: 'working' } } });
  expect(turns()).toEqual(before);

  const watch = new SvcProcess(workspace, ['watch', line.url]);
  await gate.open('go');
  await watch.printed(/session ended/);
  const idle = await get(port, '/resources/files/kept');
  expect(idle.headers['x-svc-generation']).toBe('1');
  expect(idle.headers['etag']).toBe(busy.headers['etag']);
  process.child.kill('SIGTERM');
  expect((await process.ended).code).toBe(0);
  await watch.ended;

  const again = await startCapsule(workspace, ['--workdir', work]);
  await gate.reached();
  const later = await get(portOf(again.line.url), '/resources/files/kept');
  expect(later).toMatchObject({ status: 200, body: 'kept' });
  expect([later.headers['x-svc-generation'], later.headers['etag']]).toEqual(['0', busy.headers['etag']]);
  await gate.open('go');
  again.process.child.kill('SIGTERM');
  await again.process.ended;
});

function portOf(url: string): number {
  return Number(url.split(':').at(-1));
}
