import { afterEach, describe, expect, it } from 'vitest';

import type { DelegationsDeps } from '../../src/delegation/delegations-deps.ts';
import { type ChildBehaviour, childSession, DelegationsFixture } from '../../../../test/support/delegations-fixture.ts';
import { approvalOfTest } from '../../../../test/support/stand-in-referee.ts';

const request = { capsule: 'worker', version: '1.2.3', task: 'Count the files.' };
const [delegationId, childWorkdir] = ['dlg_0199c82cc00070018203040506070801', '.svc/children/worker-0001020304050602'];

let fixture: DelegationsFixture;
afterEach(async () => await fixture.dispose());

async function starting(behaviour: ChildBehaviour = {}, changes: Partial<DelegationsDeps> = {}): Promise<void> {
  fixture = await DelegationsFixture.start(behaviour, changes);
}

describe('a delegation', () => {
  it('goes to the referee with the credential and nothing else but name and version', async () => {
    await starting();
    await fixture.delegations.start(request, fixture.call());
    expect(fixture.referee.spawns.map(({ body }) => body)).toEqual([{ name: 'worker', version: '1.2.3' }]);
    expect(fixture.referee.spawns[0]?.headers['x-svc-spawn-credential']).toBe('msc1.credential-of-the-test');
  });

  it('starts once its child has its task [D2-DELEG-15] [D2-EVENT-02]', async () => {
    await starting();
    const outcome = await fixture.delegations.start(request, fixture.call());
    expect(outcome).toEqual({ kind: 'started', delegationId, sessionId: childSession, childWorkdir });
    expect(fixture.lines.all).toEqual([
      {
        event_type: 'delegation',
        task_id: 'tsk_parent',
        delegation_id: delegationId,
        capsule: 'worker',
        version: '1.2.3',
        status: 'started',
        child_session_id: childSession,
        child_session_directory: `children/worker-0001020304050602/.svc/sessions/${childSession}`,
      },
    ]);
    expect(fixture.delegations.running).toEqual([
      { delegationId, sessionId: childSession, capsule: 'worker', version: '1.2.3', childWorkdir },
    ]);
  });

  it('starts `svc run` of the approved capsule in its own directory, with the approval on standard input alone [D2-DIR-03] [D2-VAR-07]', async () => {
    await starting();
    await fixture.delegations.start(request, fixture.call());
    const started = await fixture.referee.noted('started');
    const directory = `${fixture.workdir}/${childWorkdir}`;
    expect((started['words'] as string[]).join(' ')).toBe(
      `run --json --capsule worker --capsule-version 1.2.3 --workdir ${directory} --capture-ceiling meta --no-env-file --spawn-approval-stdin --spawned-by ${process.pid} --session-id ${childSession} --stop-within 7200`,
    );
    expect(started['approval']).toBe(approvalOfTest);
    expect(JSON.stringify(started['env'])).not.toContain(approvalOfTest);
    expect(String(started['cwd'])).toMatch(/\/roots\/worker-0001020304050602$/);
  });

  it('gives each child a directory of its own [D2-DIR-01]', async () => {
    await starting();
    const first = await fixture.delegations.start(request, fixture.call());
    const second = await fixture.delegations.start(request, fixture.call());
    const places = [first, second].map((each) => (each.kind === 'started' ? each.childWorkdir : null));
    expect(places[0]).toMatch(/^\.svc\/children\/worker-[0-9a-f]{16}$/);
    expect(places[1]).toMatch(/^\.svc\/children\/worker-[0-9a-f]{16}$/);
    expect(places[0]).not.toBe(places[1]);
  });

  it('gives the child only the variables that both manifests name and the parent holds [D2-ENV-01] [D2-ENV-02] [D2-ENV-03] [D2-ENV-05] [D2-ENV-07]', async () => {
    const held = { TOKEN: 't-1', MINE: 'm', THEIRS: 'x', HOME: '/home/parent', PATH: process.env['PATH'] };
    await starting(
      {},
      {
        env: held,
        envAllow: ['TOKEN', 'MINE', 'NOWHERE', 'HOME'],
        readChild: async () => ({
          kind: 'read',
          envAllow: ['TOKEN', 'THEIRS', 'NOWHERE', 'HOME', 'SVC_SPAWNER'],
          mayAsk: false,
        }),
      },
    );
    await fixture.delegations.start(request, fixture.call());
    const env = (await fixture.referee.noted('started'))['env'] as Record<string, string>;
    expect(Object.keys(env).sort()).toEqual(['HOME', 'PATH', 'SVC_REFEREE_URL', 'SVC_SPAWNER', 'TOKEN']);
    expect(env).toMatchObject({ HOME: '/home/parent', TOKEN: 't-1', SVC_REFEREE_URL: fixture.referee.url });
  });

  it('names to the child the one that it must report to [D2-HANDLE-01] [D2-HANDLE-02] [D2-HANDLE-03] [D2-HANDLE-04] [D2-HANDLE-05] [D2-HANDLE-06] [D2-ENV-04]', async () => {
    await starting();
    await fixture.delegations.start(request, fixture.call());
    const env = (await fixture.referee.noted('started'))['env'] as Record<string, string>;
    expect(env['SVC_SPAWNER']).toBe(
      `{"url":"http://127.0.0.1:4711","session_id":"ses_ffffffffffffffffffffffffffffffff","context_id":"ctx_parent","trust":"untrusted","delegation_id":"${delegationId}"}`,
    );
  });

  it('gives the task as the first message of a peer, with the trust of the delegating task [D2-DELEG-05]', async () => {
    await starting();
    await fixture.delegations.start(request, fixture.call());
    const asked = await fixture.referee.noted('asked');
    expect(asked).toMatchObject({
      method: 'message/send',
      params: { message: { role: 'user', parts: [{ text: 'Count the files.' }] } },
      headers: { 'x-svc-task-origin': 'peer', 'x-svc-task-trust': 'untrusted' },
    });
    expect(asked['headers']).not.toHaveProperty('authorization');
  });

  it('names no skill for the child, whatever the model of the parent writes', async () => {
    await starting();
    const skills = { skills: ['deploy'], 'x-svc-task-skills': 'deploy', metadata: { 'urn:svc:skills:1': ['deploy'] } };
    await fixture.delegations.start({ ...request, ...skills, task: '/deploy now' }, fixture.call());
    const asked = await fixture.referee.noted('asked');
    expect(asked).toMatchObject({ params: { message: { parts: [{ text: '/deploy now' }] } } });
    expect(JSON.stringify(asked)).not.toContain('skills');
  });

  it('sends the listener token where the child has been given it', async () => {
    await starting(
      {},
      {
        env: { PATH: process.env['PATH'], HOME: '/', SVC_LISTENER_TOKEN: 'listener-1' },
        envAllow: ['SVC_LISTENER_TOKEN'],
        readChild: async () => ({ kind: 'read', envAllow: ['SVC_LISTENER_TOKEN'], mayAsk: false }),
      },
    );
    await fixture.delegations.start(request, fixture.call());
    const asked = await fixture.referee.noted('asked');
    expect(asked['headers']).toMatchObject({ authorization: 'Bearer listener-1' });
  });

  it('reads what the child prints for as long as it runs', async () => {
    await starting({ floods: 4_000_000, chatters: 4_000_000 });
    const outcome = await fixture.delegations.start(request, fixture.call());
    expect(outcome.kind).toBe('started');
    await fixture.referee.noted('chattered');
  });

  it('accepts its completion, and no other id, until that has come [D2-COMPL-17]', async () => {
    await starting();
    await fixture.delegations.start(request, fixture.call());
    expect(fixture.delegations.open('dlg_other')).toBeNull();
    const open = fixture.delegations.open(delegationId);
    expect(open).toMatchObject({ contextId: 'ctx_parent', trust: 'untrusted' });
    open?.complete('{"status":"ok"}');
    expect(fixture.delegations.open(delegationId)).toBeNull();
    open?.complete('{"status":"error"}');
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'ok']);
    expect(fixture.delegations.running).toEqual([]);
  });

  it('takes a completion that comes before the answer to the task, and records it after the start', async () => {
    await starting();
    const outcome = fixture.delegations.start(request, fixture.call());
    // The child answers when this has been noted, and no sooner.
    await fixture.referee.noted('asked');
    fixture.delegations.open(delegationId)?.complete('{"status":"error"}');
    expect(fixture.lines.all).toEqual([]);
    expect((await outcome).kind).toBe('started');
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'error']);
  });

  it('stays started when the answer to its task is lost after its completion has come', async () => {
    await starting({ sends: ['die'] });
    const outcome = fixture.delegations.start(request, fixture.call());
    await fixture.referee.noted('asked');
    fixture.delegations.open(delegationId)?.complete('{"status":"ok"}');
    expect((await outcome).kind).toBe('started');
    expect(fixture.lines.all.map(({ status }) => status)).toEqual(['started', 'ok']);
    expect(fixture.delivered.all).toEqual([]);
  });
});
