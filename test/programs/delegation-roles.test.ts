import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { calls, says, useFormations } from '../support/formation.ts';
import type { Relayed } from '../support/referee-relay.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { svc } from '../support/svc-process.ts';

const start = useFormations();

const hearsOfEnds = 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\n';

const lead = {
  manifest: `${hearsOfEnds}capabilities: { spawn: { allow: [worker] } }\n`,
  script: [
    calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Count to three.' }, 'Begin'),
    says('It is under way.', 'Begin'),
    says('Heard.', 'delegation_id'),
  ].join(''),
};

const counts = says('One, two, three.', 'Count to three.');
const worker = { manifest: 'lifecycle: { task_acceptance: single, after_task: exit }\n', script: counts };

describe('the client of the referee', () => {
  it('can be the parent once for a child, and each of the two at its own start and end [D2-CORE-07] [D2-CORE-10] [D2-ENVEL-01] [D2-REG-07] [D2-VAR-01]', async () => {
    const formation = await start({ capsules: { lead, worker }, isRelayed: true });
    await formation.send('Begin');
    await formation.tasksEnded(2);
    expect(formation.relay.asked).toEqual(['POST /register', 'POST /spawn', 'POST /register', 'POST /deregister']);
    const [own, spawn, child, end] = formation.relay.relayed;
    const [credential, approval, credentialOfChild] = [own, spawn, child].map(tokenIn);
    expect(own?.body).toEqual({ session_id: formation.line.session_id, name: 'lead', version: '1.0.0' });
    expect(own?.headers).not.toHaveProperty('x-svc-spawn-approval');
    expect(spawn?.headers['x-svc-spawn-credential']).toBe(credential);
    expect(spawn?.body).toEqual({ name: 'worker', version: '1.0.0' });
    expect(child?.headers['x-svc-spawn-approval']).toBe(approval);
    expect(child?.body).toMatchObject({ name: 'worker', version: '1.0.0' });
    expect(end?.headers['x-svc-spawn-credential']).toBe(credentialOfChild);
    expect(end?.body).toEqual({ outcome: 'complete' });
    formation.lead.child.kill('SIGTERM');
    await formation.lead.ended;
    const last = formation.relay.relayed.at(-1);
    expect(last).toMatchObject({ what: 'POST /deregister', status: 200, body: { outcome: 'complete' } });
    expect(last?.headers['x-svc-spawn-credential']).toBe(credential);
  });

  it('learns nothing that it should not know, and sends nothing by itself [D2-EVENT-01] [D2-AUTH-04] [D2-AUTH-05] [D2-AUTH-06] [D1-AUTH-04]', async () => {
    const slow = { ...worker, script: says('One, two, three.', 'Count', 600_000) };
    const formation = await start({ capsules: { lead, worker: slow }, isRelayed: true });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    const answers = formation.relay.relayed.map(({ answer }) => answer as Record<string, string>);
    const tokens = answers.flatMap(({ credential, approval }) =>
      [credential, approval].filter((each) => each !== undefined),
    );
    expect(tokens.map((token) => token.slice(0, 5))).toEqual(['msc1.', 'msa1.', 'msc1.']);
    const { pid } = formation.running('worker');
    const seen = [formation.line.pid, pid].flatMap((each) =>
      ['environ', 'cmdline'].map((file) => readFileSync(`/proc/${each}/${file}`, 'utf8')),
    );
    const told = [JSON.stringify(formation.trace), JSON.stringify(formation.childTrace), ...formation.results];
    for (const token of tokens) for (const text of [...seen, ...told]) expect(text).not.toContain(token);
    // Standard input, which brought the approval, is at its end.
    expect(formation.relay.asked).toEqual(['POST /register', 'POST /spawn', 'POST /register']);
  });

  it('does not exist for a capsule that may delegate to none, which needs no referee [D2-CORE-09]', async () => {
    const workspace = scriptCapsule({ files: { 'task.md': 'Work.\n' } });
    try {
      const { code, stderr } = await svc(workspace, ['run'], { env: { SVC_REFEREE_URL: 'http://127.0.0.1:9' } });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    } finally {
      workspace.remove();
    }
  });
});

describe('a child whose parent is gone', () => {
  it('ends, does not fail, and leaves a record that says why it reported to nobody [D2-COMPL-18] [D2-COMPL-32] [D2-COMPL-36]', async () => {
    const slow = { ...worker, script: says('One, two, three.', 'Count', 600_000) };
    const formation = await start({ capsules: { lead, worker: slow } });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    formation.lead.child.kill('SIGKILL');
    await formation.lead.ended;
    const settled = await formation.settledCompletion();
    expect(settled).toMatchObject({ status: 'error', reported_by: 'child', delivered: false });
    expect(settled['delivery_error']).toBe('the parent cannot be reached: it has ended');
    expect(formation.childTrace.at(-1)).toMatchObject({ event_type: 'session_end', status: 'failed' });
    // Nobody comes back to it.
    expect(formation.trace.filter((line) => line['origin'] === 'completion')).toEqual([]);
  });
});

describe('who does what in a delegation', () => {
  it('leaves the launch to the runtime that asked: the child is a process of svc below it, in a directory it made [D2-CORE-06] [D2-CORE-12] [D2-CORE-13] [D2-CORE-14] [D2-CORE-16]', async () => {
    const slow = { ...worker, script: says('One, two, three.', 'Count', 600_000) };
    const formation = await start({ capsules: { lead, worker: slow } });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    const { pid, workdir } = formation.running('worker');
    const parentOf = (child: number): number =>
      Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1]);
    expect(parentOf(pid)).toBe(formation.line.pid);
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')).toEqual(
      expect.arrayContaining([
        'run',
        '--json',
        '--capsule',
        'worker',
        '--capsule-version',
        '1.0.0',
        '--workdir',
        workdir,
      ]),
    );
    expect(workdir).toBe(formation.childDirectory);
    // Its own runtime has asked the host: the parent runs under a ceiling that the child is not given.
    const classes = [formation.trace[0], formation.childTrace[0]].map(
      (line) => ({ ...(line?.['containment'] as Record<string, unknown>) })['achieved'],
    );
    expect(classes[0]).toBe('advisory');
    expect(classes[1]).toBe((await ownClass()).achieved);
    formation.lead.child.kill('SIGTERM');
    await formation.lead.ended;
    expect(formation.delegationStatuses()).toEqual(['started', 'terminated']);
    expect(formation.alive).toEqual([]);
  });

  it('does not need the referee for an end: a session is not failed because it is gone [D2-DEREG-04]', async () => {
    const formation = await start({ capsules: { lead, worker } });
    await formation.endReferee();
    formation.lead.child.kill('SIGTERM');
    expect(await formation.lead.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('has each child held to its own list, whatever the daemon admits by itself [D2-ENVEL-17]', async () => {
    const middle = {
      manifest: `${hearsOfEnds.replace('sleep', 'exit')}capabilities: { spawn: { allow: [worker] } }\n`,
      script: [
        calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Count to three.' }, 'Pass on'),
        says('Passed on.', 'Pass on'),
      ].join(''),
    };
    const top = {
      manifest: `${hearsOfEnds}capabilities: { spawn: { allow: [middle] } }\n`,
      script: [
        calls('delegate-task', { capsule: 'middle', version: '1.0.0', task: 'Pass on.' }, 'Begin'),
        says('Begun.', 'Begin'),
      ].join(''),
    };
    const formation = await start({ capsules: { lead: top, middle, worker }, referee: ['--spawn-allow', 'worker'] });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    // A child that lists what its parent does not is refused at once.
    expect(formation.results).toEqual([
      'capsule middle declares more than its parent holds: capabilities.spawn.allow: the child declares "worker", which the parent does not',
    ]);
  });
});

function tokenIn(relayed: Relayed | undefined): unknown {
  const { credential, approval } = (relayed?.answer ?? {}) as Record<string, unknown>;
  return credential ?? approval;
}

/** What `svc` achieves here when nothing lowers it. */
async function ownClass(): Promise<{ readonly achieved: string }> {
  const workspace = scriptCapsule();
  try {
    const env = { SVC_CONTAINMENT_CEILING: '' };
    const { stdout } = await svc(workspace, ['run', '--explain-scope', '--json'], { env });
    return (JSON.parse(stdout) as { containment: { achieved: string } }).containment;
  } finally {
    workspace.remove();
  }
}
