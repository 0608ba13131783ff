import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { calls, says, useFormations } from '../support/formation.ts';

const start = useFormations();

const hearsOfEnds = 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\n';
const takesOne = 'lifecycle: { task_acceptance: single }\n';

const lead = {
  manifest: `${hearsOfEnds}capabilities: { spawn: { allow: [worker] }, shell: { allow: [sh] } }\n`,
  script: [
    calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Count to three.' }, 'Begin'),
    says('It is under way.', 'Begin'),
    calls('sh', { command: 'cat .svc/children/*/out/result.txt' }, 'delegation_id'),
    says('Heard.', 'delegation_id'),
  ].join(''),
};

const worker = { manifest: takesOne, script: says('One, two, three.', 'Count to three.') };

describe('a capsule that delegates', () => {
  it('gets the end as a task of the same conversation, and finds the result in the directory of the child [D2-COMPL-04] [D2-COMPL-13] [D2-COMPL-19] [D2-COMPL-20] [D2-COMPL-26] [D2-EVENT-03] [D2-DELEG-07] [D2-DELEG-08] [D2-DELEG-09] [D2-DELEG-10] [D2-DELEG-11] [D1-TRACE-02] [D2-DELEG-06] [D2-COMPL-05] [D2-COMPL-06] [D2-COMPL-09] [D2-EVENT-02]', async () => {
    const formation = await start({ capsules: { lead, worker } });
    await formation.send('Begin');
    await formation.tasksEnded(2);
    const [delegated = '', read = ''] = formation.results;
    const result = JSON.parse(delegated.split('\n')[1] ?? '') as Record<string, string>;
    expect(Object.keys(result)).toEqual([
      'delegation_id',
      'session_id',
      'capsule',
      'version',
      'status',
      'child_workdir',
    ]);
    expect(result).toMatchObject({ capsule: 'worker', version: '1.0.0', status: 'started' });
    expect(read).toContain('One, two, three.');

    const [first, second] = formation.trace.filter((line) => line['event_type'] === 'task_received');
    expect(second).toMatchObject({ origin: 'completion', lane: 'background', trust: 'untrusted' });
    expect(second?.['context_id']).toBe(first?.['context_id']);
    const told = JSON.parse(String(second?.['text'])) as Record<string, unknown>;
    expect(told).toEqual({
      delegation_id: result['delegation_id'],
      capsule_name: 'worker',
      capsule_version: '1.0.0',
      session_id: result['session_id'],
      status: 'ok',
      result_path: 'out/result.txt',
      workdir: formation.childDirectory,
      duration_ms: told['duration_ms'],
    });
    expect(formation.delegationStatuses()).toEqual(['started', 'ok']);
    const lines = formation.trace.filter((line) => line['event_type'] === 'delegation');
    for (const { child_session_id: child, child_session_directory: directory } of lines) {
      expect(child).toBe(result['session_id']);
      expect(formation.traceBelow(String(directory))[0]).toMatchObject({
        event_type: 'session_start',
        session_id: child,
      });
    }
    expect(await formation.settledCompletion()).toEqual({ ...told, reported_by: 'child', delivered: true });
  });

  it('gives its child a directory for the owner alone, and the task as its first message [D2-DIR-01] [D2-DIR-02] [D2-DIR-03] [D2-DELEG-05]', async () => {
    const formation = await start({ capsules: { lead, worker } });
    await formation.send('Begin');
    await formation.tasksEnded(2);
    expect(formation.childDirectory).toMatch(/\/\.svc\/children\/worker-[0-9a-f]{16}$/);
    expect(statSync(formation.childDirectory).mode & 0o777).toBe(0o700);
    const received = formation.childTrace.filter((line) => line['event_type'] === 'task_received');
    expect(received).toMatchObject([{ text: 'Count to three.', origin: 'peer', trust: 'untrusted' }]);
    expect(readFileSync(join(formation.childDirectory, 'out', 'result.txt'), 'utf8')).toBe('One, two, three.');
  });

  it('has the tool for it, which its child has not, nor a skill of the folder that it was published from [D2-DELEG-01] [D2-DELEG-02]', async () => {
    const discovers = {
      manifest: `${takesOne}skills: { discover: [.agents/skills] }\n`,
      files: { '.agents/skills/forms/SKILL.md': '---\ndescription: Fills forms.\n---\nFill it.\n' },
    };
    const formation = await start({ capsules: { lead, worker: { ...worker, ...discovers } } });
    await formation.send('Begin');
    await formation.tasksEnded(2);
    const declared = [formation.trace[0], formation.childTrace[0]].map((line) => line?.['tools_declared']);
    expect(declared).toEqual([['delegate-task', 'sh'], []]);
  });

  it('holds a slot of the referee while the child runs, whose stop becomes an error without a result [D2-COMPL-04] [D2-COMPL-05] [D2-COMPL-13]', async () => {
    const slow = { ...worker, script: says('One, two, three.', 'Count', 600_000) };
    const formation = await start({ capsules: { lead, worker: slow } });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    expect(await formation.status()).toMatchObject({ status: 'running', depth_remaining: 3, live_children: 1 });
    const child = formation.running('worker');
    expect(await formation.status(child.session_id)).toMatchObject({ status: 'running', depth_remaining: 2 });
    process.kill(child.pid, 'SIGTERM');
    await formation.tasksEnded(2);
    expect(formation.delegationStatuses()).toEqual(['started', 'error']);
    expect(formation.completion).not.toHaveProperty('result_path');
    expect(await formation.status(child.session_id)).toMatchObject({ status: 'failed' });
    expect(await formation.status()).toMatchObject({ live_children: 0 });
  });

  it('goes on after a refusal, which is a sentence that names the key and the entry [D2-DELEG-03] [D2-DELEG-13] [D2-DELEG-14] [D2-DELEG-04]', async () => {
    const asks = {
      ...lead,
      script: [
        calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'x' }, 'Begin'),
        calls('delegate-task', { capsule: 'worker', version: 'latest', task: 'x' }, 'Begin'),
        calls('delegate-task', { capsule: 'other', version: '1.0.0', task: 'x' }, 'Begin'),
        says('Then not.', 'Begin'),
      ].join(''),
    };
    const greedy = { ...worker, manifest: `${takesOne}capabilities: { shell: { allow: [sh, cat] } }\n` };
    const formation = await start({ capsules: { lead: asks, worker: greedy } });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    const [beyond = '', latest = '', other = ''] = formation.results;
    expect(beyond).toMatch(/^capsule worker declares more than its parent holds: .*capabilities\.shell\.allow.*cat/);
    expect(beyond).not.toContain('{');
    expect(latest).toContain('latest');
    expect(other).toContain('the arguments of delegate-task do not fit its input schema');
    expect(formation.delegationStatuses()).toEqual(['refused', 'refused']);
    expect(formation.trace.filter((line) => line['event_type'] === 'task_end')).toMatchObject([{ state: 'completed' }]);
    expect(await formation.status()).toMatchObject({ live_children: 0 });
  });
});
