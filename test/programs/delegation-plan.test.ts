import { describe, expect, it } from 'vitest';

import { calls, says, useFormations } from '../support/formation.ts';

const start = useFormations();

const staysUp = 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\n';

const plan = {
  id: 'count',
  steps: [
    { id: 'ask', capsule: 'worker', version: '1.0.0', input: 'Count to three.' },
    { id: 'again', capsule: 'worker', version: '1.0.0', input: 'Say again: {{steps.ask.output}}', depends_on: ['ask'] },
  ],
};

const plansAndSays = [calls('submit-plan', plan, 'Begin'), says('Planned.', 'Begin')].join('');

const lead = {
  manifest: `${staysUp}capabilities: { spawn: { allow: [worker] }, plan: { submit: true } }\n`,
  script: plansAndSays,
};

const worker = {
  manifest: staysUp,
  script: [says('One, two, three.', 'Count to three.'), says('And again.', 'Say again')].join(''),
};

function planSteps(trace: readonly Readonly<Record<string, unknown>>[]): readonly unknown[] {
  return trace.filter((line) => line['event_type'] === 'plan_step');
}

describe('a plan with capsule steps', () => {
  it('has each capsule answer its task, hands the answer on as a stranger’s, and leaves nothing running [D2-EVENT-06] [D2-VAR-01]', async () => {
    const formation = await start({ capsules: { lead, worker } });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    expect(planSteps(formation.trace)).toMatchObject([
      { step_id: 'ask', outcome: 'passed', name: 'worker', arguments: { task: 'Count to three.' } },
      {
        step_id: 'again',
        outcome: 'passed',
        arguments: {
          task: expect.stringMatching(
            /^Say again: \n?<untrusted-content source=tool:worker>\nOne, two, three\.\n<\/untrusted-content>/,
          ) as unknown,
        },
      },
    ]);
    expect(formation.results[0]).toContain('And again.');
    expect(formation.delegationStatuses()).toEqual(['started', 'started']);
    expect(formation.trace.filter((line) => line['origin'] === 'completion')).toEqual([]);
    expect(formation.alive).toEqual(['lead']);
    expect(await formation.status()).toMatchObject({ live_children: 0 });
  });

  it('fails where the capsule is not allowed, in the words of the referee', async () => {
    const only = { ...plan, steps: [{ id: 'ask', capsule: 'other', version: '1.0.0', input: 'Count.' }] };
    const script = [calls('submit-plan', only, 'Begin'), says('Not planned.', 'Begin')].join('');
    const formation = await start({ capsules: { lead: { ...lead, script }, worker } });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    expect(formation.results[0]).toContain("capsule other not in parent's spawn_allow");
    expect(formation.delegationStatuses()).toEqual(['refused']);
  });
});

describe('a formation of three levels', () => {
  const top = {
    manifest: `${staysUp}capabilities: { spawn: { allow: [middle, worker] } }\n`,
    script: [
      calls('delegate-task', { capsule: 'middle', version: '1.0.0', task: 'Begin' }, 'Start'),
      says('It is under way.', 'Start'),
      says('Heard.', 'delegation_id'),
    ].join(''),
  };
  const middle = {
    manifest:
      'lifecycle: { task_acceptance: queue, after_task: exit }\ncapabilities: { spawn: { allow: [worker] }, plan: { submit: true } }\n',
    script: plansAndSays,
  };

  it('has each child started by its own parent, and its end reported there', async () => {
    const formation = await start({ capsules: { lead: top, middle, worker } });
    await formation.send('Start');
    await formation.tasksEnded(2);
    expect(formation.delegationStatuses()).toEqual(['started', 'ok']);
    const steps = planSteps(formation.childTrace);
    expect(steps).toMatchObject([
      { step_id: 'ask', outcome: 'passed' },
      { step_id: 'again', outcome: 'passed' },
    ]);
    expect(await formation.status()).toMatchObject({ live_children: 0, live_capsules: 1 });
  });

  it('ends at the depth that the referee was given', async () => {
    const formation = await start({ capsules: { lead: top, middle, worker }, referee: ['--max-depth', '1'] });
    await formation.send('Start');
    await formation.tasksEnded(2);
    expect(formation.delegationStatuses()).toEqual(['started', 'ok']);
    const delegations = formation.childTrace.filter((line) => line['event_type'] === 'delegation');
    expect(delegations).toMatchObject([
      { status: 'refused', detail: expect.stringContaining('--max-depth') as unknown },
    ]);
  });
});
