import { describe, expect, it } from 'vitest';

import { calls, type Formation, says, useFormations } from '../support/formation.ts';
import { isGone } from '../support/is-gone.ts';

const start = useFormations();

const staysUp = 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\n';

function delegatesTo(name: string, task: string, when: string): string {
  const call = calls('delegate-task', { capsule: name, version: '1.0.0', task }, when);
  return [call, says('It is under way.', when), says('Heard.', 'delegation_id')].join('');
}

const capsules = {
  lead: {
    manifest: `${staysUp}capabilities: { spawn: { allow: [middle, worker] } }\n`,
    script: delegatesTo('middle', 'Begin', 'Start'),
  },
  middle: {
    manifest: `${staysUp}capabilities: { spawn: { allow: [worker] } }\n`,
    script: delegatesTo('worker', 'Count.', 'Begin'),
  },
  worker: { manifest: 'lifecycle: { task_acceptance: single }\n', script: says('One.', 'Count.', 600_000) },
};

describe('a formation of three levels whose last one does not listen', () => {
  it('disappears when its first one has been stopped, and the referee knows that [D2-COMPL-15]', async () => {
    const formation = await start({ capsules });
    await formation.send('Start');
    const worker = await runningWorker(formation);
    process.kill(worker.pid, 'SIGSTOP');
    formation.lead.child.kill('SIGTERM');
    await formation.lead.ended;
    expect(isGone(worker.pid)).toBe(true);
    expect(formation.alive).toEqual([]);
    expect(await formation.status(worker.session_id)).toMatchObject({ status: 'failed', live_capsules: 0 });
    expect(formation.completion).toMatchObject({ status: 'terminated', reported_by: 'launcher' });
  }, 60_000);
});

/** The worker, once its parent knows that it holds its task. */
async function runningWorker(formation: Formation): Promise<{ readonly pid: number; readonly session_id: string }> {
  await expect.poll(() => formation.alive.includes('worker') && startedByChild(formation)).toBe(true);
  return formation.running('worker');
}

function startedByChild(formation: Formation): boolean {
  return formation.childTrace.some((line) => line['event_type'] === 'delegation' && line['status'] === 'started');
}
