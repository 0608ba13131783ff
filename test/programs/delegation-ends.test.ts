import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it, onTestFinished } from 'vitest';

import { calls, type Formation, publish, says, useFormations } from '../support/formation.ts';
import { rpc, svc } from '../support/svc-process.ts';
import { isGone } from '../support/is-gone.ts';

const start = useFormations();

const lead = {
  manifest: `lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }
capabilities: { spawn: { allow: [worker] }, env: { allow: [SHARED, MINE, ABSENT] } }
`,
  script: [
    calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Count to three.' }, 'Begin'),
    says('It is under way.', 'Begin'),
    says('Heard.', 'delegation_id'),
  ].join(''),
};

/** Works for longer than any test waits. */
const worker = {
  manifest: 'lifecycle: { task_acceptance: single }\ncapabilities: { env: { allow: [SHARED, ABSENT] } }\n',
  script: says('One, two, three.', 'Count', 600_000),
};

/** A formation whose child works. */
async function delegated(env: Readonly<Record<string, string>> = {}): Promise<Formation> {
  const formation = await start({ capsules: { lead, worker }, env });
  await formation.send('Begin');
  await formation.tasksEnded(1);
  return formation;
}

/** What the lead read of the end of its child. */
function told(formation: Formation): Readonly<Record<string, unknown>> {
  const received = formation.trace.filter((line) => line['origin'] === 'completion');
  expect(received).toHaveLength(1);
  return JSON.parse(String(received[0]?.['text'])) as Record<string, unknown>;
}

describe('a child at work', () => {
  it('has the environment that the two manifests and its parent leave it, and the approval nowhere in it [D2-ENV-01] [D2-ENV-03] [D2-ENV-05] [D2-ENV-07] [D2-HANDLE-02] [D2-VAR-07]', async () => {
    const formation = await delegated({ SHARED: 'both', MINE: 'parent', OTHER: 'x' });
    const { pid } = formation.running('worker');
    const read = (name: string): readonly string[] => readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0');
    const environment = Object.fromEntries(
      read('environ')
        .filter((variable) => variable !== '')
        .map((variable) => [variable.slice(0, variable.indexOf('=')), variable.slice(variable.indexOf('=') + 1)]),
    );
    expect(Object.keys(environment).sort()).toEqual(['HOME', 'PATH', 'SHARED', 'SVC_REFEREE_URL', 'SVC_SPAWNER']);
    expect(environment).toMatchObject({ SHARED: 'both', SVC_REFEREE_URL: formation.referee });
    const handle = JSON.parse(environment['SVC_SPAWNER'] ?? '') as Record<string, unknown>;
    expect(handle).toMatchObject({
      url: `http://${formation.line.url.replace('localhost', '127.0.0.1')}`,
      session_id: formation.line.session_id,
      trust: 'untrusted',
    });
    expect(read('cmdline').join(' ')).not.toContain('msa1.');
    expect(JSON.stringify(environment)).not.toContain('msa1.');
  });

  it('has the names of the runtime from the runtime, whatever the manifests name and its parent holds [D2-ENV-06] [D2-HANDLE-07]', async () => {
    const names = 'env: { allow: [PATH, HOME, SVC_REFEREE_URL, SVC_SPAWNER] }';
    const other = {
      session_id: `ses_${'0'.repeat(32)}`,
      context_id: 'ctx_other',
      trust: 'trusted',
      delegation_id: 'dlg_other',
    };
    const handleOfLead = JSON.stringify({ url: 'http://127.0.0.1:9', ...other });
    const formation = await start({
      capsules: {
        lead: { ...lead, manifest: lead.manifest.replace('env: { allow: [SHARED, MINE, ABSENT] }', names) },
        worker: { ...worker, manifest: `lifecycle: { task_acceptance: single }\ncapabilities: { ${names} }\n` },
      },
      env: { SVC_SPAWNER: handleOfLead },
    });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    const environ = readFileSync(`/proc/${formation.running('worker').pid}/environ`, 'utf8').split('\0');
    expect(environ.filter((variable) => variable.startsWith('SVC_REFEREE_URL='))).toEqual([
      `SVC_REFEREE_URL=${formation.referee}`,
    ]);
    const handles = environ.filter((variable) => variable.startsWith('SVC_SPAWNER='));
    expect(handles).toHaveLength(1);
    expect(handles[0]).toContain(`"session_id":"${formation.line.session_id}"`);
    expect(environ).toContain(`HOME=${formation.workspace.home}`);
  });

  it('appears in the answer of session/stop among what goes on', async () => {
    const formation = await delegated();
    const { result } = (await rpc(formation.line.url, 'session/stop')) as { result: { residue: unknown[] } };
    expect(JSON.stringify(result.residue)).toContain(formation.running('worker').session_id);
  });

  it('counts as crashed after a kill, by its parent, which has its place back [D2-COMPL-04] [D2-COMPL-05] [D2-COMPL-08] [D2-COMPL-11] [D2-COMPL-14] [D2-DELEG-16]', async () => {
    const formation = await delegated();
    const { pid, session_id: session } = formation.running('worker');
    process.kill(pid, 'SIGKILL');
    await formation.tasksEnded(2);
    expect(told(formation)).toMatchObject({ status: 'crashed', session_id: session, detail: 'ended by SIGKILL' });
    expect(told(formation)).not.toHaveProperty('result_path');
    expect(formation.results[0]).toContain('"status":"started"');
    expect(formation.completion).toEqual({ ...told(formation), reported_by: 'launcher', delivered: true });
    expect(formation.delegationStatuses()).toEqual(['started', 'crashed']);
    expect(await formation.status()).toMatchObject({ live_children: 0 });
  });

  it('ends beyond the time of SVC_DELEGATION_TIMEOUT_SECS, and counts as terminated once [D2-COMPL-04] [D2-COMPL-16] [D2-COMPL-17] [D2-LIMIT-07] [D2-LIMIT-09] [D2-VAR-05]', async () => {
    const formation = await start({ capsules: { lead, worker }, env: { SVC_DELEGATION_TIMEOUT_SECS: '2' } });
    await formation.send('Begin');
    await formation.tasksEnded(2);
    const { detail, ...rest } = told(formation);
    expect(rest).toMatchObject({ status: 'terminated' });
    expect(detail).toMatch(/^still running after 2 s; exit status 1/);
    expect(formation.completion).toMatchObject({ reported_by: 'launcher', delivered: true, status: 'terminated' });
    expect(formation.delegationStatuses()).toEqual(['started', 'terminated']);
    expect(formation.alive).toEqual(['lead']);
    expect(await formation.status()).toMatchObject({ live_children: 0 });
  });

  it('has one end in its record for a poller when it ends at its bound, the one of its parent [D2-COMPL-11]', async () => {
    const formation = await start({ capsules: { lead, worker }, env: { SVC_DELEGATION_TIMEOUT_SECS: '1' } });
    await formation.send('Begin');
    const seen = await recordsUntil(formation, ({ delivered, delivery_error: reason }) => {
      return delivered === true || reason !== undefined;
    });
    await formation.tasksEnded(2);
    const ends = [...seen, formation.completion].map(({ status, reported_by: by, delivered }) => ({
      status,
      by,
      delivered,
    }));
    expect(ends[0]).toEqual({ status: 'terminated', by: 'launcher', delivered: false });
    expect(new Set(ends.map(({ status, by }) => `${String(by)} ${String(status)}`))).toEqual(
      new Set(['launcher terminated']),
    );
    expect(ends.at(-1)).toEqual({ status: 'terminated', by: 'launcher', delivered: true });
    expect(formation.completion['detail']).toMatch(/^still running after 1 s; exit status 1$/);
  });

  it('beyond lifecycle.delegation_deadline_secs of its parent is ended too [D1-MAN-16] [D2-LIMIT-07]', async () => {
    const manifest = lead.manifest.replace('after_task: sleep', 'after_task: sleep, delegation_deadline_secs: 2');
    const formation = await start({ capsules: { lead: { ...lead, manifest }, worker } });
    await formation.send('Begin');
    await formation.tasksEnded(2);
    expect(told(formation)).toMatchObject({
      status: 'terminated',
      detail: expect.stringMatching(/^still running after 2 s; /) as unknown,
    });
  });

  it('ends with its parent, which records that and reports it to nobody [D2-COMPL-15]', async () => {
    const formation = await delegated();
    const { pid } = formation.running('worker');
    formation.lead.child.kill('SIGTERM');
    await formation.lead.ended;
    expect(isGone(pid)).toBe(true);
    const { detail, ...rest } = formation.completion;
    expect(rest).toMatchObject({ status: 'terminated', reported_by: 'launcher', delivered: false });
    expect(rest).not.toHaveProperty('delivery_error');
    expect(detail).toMatch(/^ended by its parent; /);
    expect(formation.delegationStatuses()).toEqual(['started', 'terminated']);
    expect(formation.trace.filter((line) => line['origin'] === 'completion')).toEqual([]);
    expect(formation.trace.at(-1)).toMatchObject({ event_type: 'session_end' });
  });

  it('leaves neither credential nor approval in any file of the formation [D2-VAR-07]', async () => {
    const formation = await delegated();
    formation.lead.child.kill('SIGTERM');
    const { stdout, stderr } = await formation.lead.ended;
    const { folder } = formation.workspace;
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toContain('completion.json');
    const texts = files.map((file) => readFileSync(join(file.parentPath, file.name), 'utf8'));
    for (const text of [stdout, stderr, ...texts]) expect(text).not.toMatch(/ms[ac]1\./);
  });
});

/** The different contents of the record of the only child, in their order, up to the first that is `settled`. */
async function recordsUntil(
  formation: Formation,
  settled: (record: Readonly<Record<string, unknown>>) => boolean,
): Promise<Readonly<Record<string, unknown>>[]> {
  const seen: Readonly<Record<string, unknown>>[] = [];
  for (;;) {
    await nextTurn();
    let record: Readonly<Record<string, unknown>>;
    try {
      record = formation.completion;
    } catch {
      continue;
    }
    if (JSON.stringify(record) !== JSON.stringify(seen.at(-1))) seen.push(record);
    if (settled(record)) return seen;
  }
}

describe('a capsule that may delegate', () => {
  it('does not start without the address of a referee [D2-CODE-01]', async () => {
    const workspace = await publish({ lead });
    onTestFinished(() => workspace.remove());
    const args = ['run', '--capsule', 'lead', '--capsule-version', '1.0.0'];
    for (const env of [{}, { SVC_REFEREE_URL: '' }, { SVC_REFEREE_URL: ' ' }]) {
      const { code, stdout, stderr } = await svc(workspace, args, { env });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error\[E-RUN-019\]: /m);
    }
  });
});
