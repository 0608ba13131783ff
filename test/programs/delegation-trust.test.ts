import { spawnSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { calls, says, useFormations, type Formation } from '../support/formation.ts';
import { Gate } from '../support/gate.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { message, rpc, svc } from '../support/svc-process.ts';

const start = useFormations();

const hearsOfEnds = 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\n';
const mayDelegate = 'capabilities: { spawn: { allow: [worker] }, shell: { allow: [sh] } }\n';
const delegates = calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Count to three.' }, 'Begin');

const lead = {
  manifest: `${hearsOfEnds}${mayDelegate}`,
  script: [delegates, says('It is under way.', 'Begin'), says('Heard.', 'delegation_id')].join(''),
};
const worker = {
  manifest: 'lifecycle: { task_acceptance: single, after_task: exit }\n',
  script: says('One, two, three.', 'Count to three.'),
};

function received(trace: Formation['trace']): Formation['trace'] {
  return trace.filter((line) => line['event_type'] === 'task_received');
}

describe('the trust of a delegation', () => {
  it('comes from the task a capsule is started with, for its child and for the report of that [D2-HANDLE-05] [D2-COMPL-22]', async () => {
    const formation = await start({ capsules: { lead, worker }, task: 'Begin' });
    await formation.tasksEnded(2);
    expect(received(formation.trace)).toMatchObject([
      { origin: 'user', trust: 'trusted' },
      { origin: 'completion', trust: 'trusted' },
    ]);
    expect(received(formation.childTrace)).toMatchObject([{ origin: 'peer', trust: 'trusted' }]);
  });

  it('falls to untrusted where the task came as a message [D2-HANDLE-05] [D2-COMPL-22]', async () => {
    const formation = await start({ capsules: { lead, worker } });
    await formation.send('Begin');
    await formation.tasksEnded(2);
    expect(received(formation.trace)).toMatchObject([
      { origin: 'message', trust: 'untrusted' },
      { origin: 'completion', trust: 'untrusted' },
    ]);
    expect(received(formation.childTrace)).toMatchObject([{ origin: 'peer', trust: 'untrusted' }]);
  });
});

describe('the report of a child', () => {
  it.each(['trusted', 'untrusted'])(
    'says by headers what it is, with the trust of its handle: %s [D2-COMPL-21] [D2-COMPL-22] [D2-COMPL-23] [D2-COMPL-24]',
    async (trust) => {
      const asked: IncomingHttpHeaders[] = [];
      const parent = createServer((request, response) => {
        asked.push(request.headers);
        response.end(
          JSON.stringify({ jsonrpc: '2.0', id: 'x', result: { id: 'tsk_1', status: { state: 'submitted' } } }),
        );
      });
      await new Promise<void>((resolve) => parent.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void parent.close());
      const workspace = scriptCapsule({ files: { 'task.md': 'Work.\n' } });
      onTestFinished(() => workspace.remove());
      const delegationId = 'dlg_0199c82cc00070018203040506070801';
      const sessionId = `ses_${'f'.repeat(32)}`;
      const handle = {
        url: `http://127.0.0.1:${(parent.address() as AddressInfo).port}`,
        session_id: sessionId,
        context_id: 'ctx_parent',
        trust,
        delegation_id: delegationId,
      };
      const { code, stderr } = await svc(workspace, ['run'], { env: { SVC_SPAWNER: JSON.stringify(handle) } });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(asked).toMatchObject([
        {
          'x-svc-task-origin': 'completion',
          'x-svc-task-trust': trust,
          'x-svc-delegation-id': delegationId,
          'x-svc-completion-session': sessionId,
        },
      ]);
    },
  );

  it('goes to nobody once its parent has ended: a program that listens there now would see the listener token', async () => {
    const asked: IncomingHttpHeaders[] = [];
    const stranger = createServer((request, response) => {
      asked.push(request.headers);
      response.end();
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void stranger.close());
    const workspace = scriptCapsule({ files: { 'task.md': 'Work.\n' } });
    onTestFinished(() => workspace.remove());
    const { pid } = spawnSync(process.execPath, ['--version']);
    const handle = {
      url: `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`,
      session_id: `ses_${'f'.repeat(32)}`,
      context_id: 'ctx_parent',
      trust: 'trusted',
      delegation_id: 'dlg_0199c82cc00070018203040506070801',
    };
    const env = { SVC_SPAWNER: JSON.stringify(handle), SVC_LISTENER_TOKEN: 'a-token-of-this-user' };
    const { stderr } = await svc(workspace, ['run', '--spawned-by', String(pid)], { env });
    expect(stderr).toContain('was not delivered: the parent cannot be reached: it has ended');
    expect(asked).toEqual([]);
  });

  it('waits behind the tasks of people that came after it [D2-COMPL-25]', async () => {
    const script = [
      delegates,
      calls('sh', { command: Gate.command }, 'Begin'),
      says('It is under way.', 'Begin'),
      says('For a person.', 'Hello'),
      says('Heard.', 'delegation_id'),
    ].join('');
    const formation = await start({ capsules: { lead: { ...lead, script }, worker } });
    const gate = new Gate(formation.line.workdir);
    await formation.send('Begin');
    await gate.reached();
    await expect.poll(() => received(formation.trace).length, { timeout: 20_000 }).toBe(2);
    await formation.send('Hello');
    await gate.open('on');
    await formation.tasksEnded(3);
    expect(received(formation.trace).map(({ origin, lane }) => [origin, lane])).toEqual([
      ['message', 'foreground'],
      ['completion', 'background'],
      ['message', 'foreground'],
    ]);
    const [first, completion, person] = received(formation.trace).map((line) => line['task_id']);
    const begun = formation.trace.filter((line) => line['event_type'] === 'task_start').map((line) => line['task_id']);
    expect(begun).toEqual([first, person, completion]);
  });
});

describe('the lifecycle of a formation', () => {
  it('lets a child that exits report, and one that sleeps go on for as long as its parent [D2-EVENT-05]', async () => {
    const sleeps = { ...worker, manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n' };
    const formation = await start({ capsules: { lead, worker: sleeps } });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    const child = formation.running('worker');
    const ended = (): unknown => formation.childTrace.find((line) => line['event_type'] === 'task_end');
    await expect.poll(ended, { timeout: 20_000 }).toBeDefined();
    expect(await rpc(child.url, 'message/send', message('Count to three.'))).toHaveProperty('result');
    expect(formation.delegationStatuses()).toEqual(['started']);
    const other = await start({ capsules: { lead, worker } });
    await other.send('Begin');
    await other.tasksEnded(2);
    expect(other.delegationStatuses()).toEqual(['started', 'ok']);
    expect(other.alive).toEqual(['lead']);
  });

  it.each([
    ['task_acceptance: single', 'lifecycle: { task_acceptance: single }\n'],
    ['queue_depth: 0', 'lifecycle: { task_acceptance: queue, queue_depth: 0, after_task: sleep }\n'],
    ['after_task: exit', 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: exit }\n'],
  ])(
    'causes a warning, and no refusal, when its parent cannot get reports of ends: %s [D2-EVENT-03] [D2-EVENT-04] [D2-CODE-05] [D1-ERR-08]',
    async (_what, lifecycle) => {
      const deaf = { manifest: `${lifecycle}${mayDelegate}`, script: says('Hello.', 'Begin') };
      const formation = await start({ capsules: { lead: deaf, worker } });
      await formation.send('Begin');
      await formation.tasksEnded(1);
      formation.lead.child.kill('SIGTERM');
      const { stderr } = await formation.lead.ended;
      expect(stderr).toMatch(/^warning\[W-SEC-020\]: /m);
    },
  );

  it('has its bound in the referee: a delegation beyond the children one session may hold fails [D1-LIMIT-05]', async () => {
    const twice = {
      ...lead,
      script: [delegates, delegates, says('Two.', 'Begin'), says('Heard.', 'delegation_id')].join(''),
    };
    const slow = { ...worker, script: says('One, two, three.', 'Count', 600_000) };
    const formation = await start({ capsules: { lead: twice, worker: slow }, referee: ['--max-concurrent', '1'] });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    expect(formation.delegationStatuses()).toEqual(['started', 'refused']);
    expect(formation.results[1]).toMatch(/1/);
    expect(await formation.status()).toMatchObject({ live_children: 1 });
  });
});
