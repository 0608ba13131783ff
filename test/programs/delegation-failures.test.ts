import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { calls, type Formation, type FormationCapsule, says, useFormations } from '../support/formation.ts';

const start = useFormations();

const worker = {
  manifest: 'lifecycle: { task_acceptance: single }\n',
  script: says('One, two, three.', 'Count'),
};

const script = [
  calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Count to three.' }, 'Begin'),
  says('So it is.', 'Begin'),
  says('Heard.', 'delegation_id'),
].join('');

function leadWith(capabilities: string): FormationCapsule {
  const lifecycle = 'lifecycle: { task_acceptance: queue, after_task: sleep, delegation_deadline_secs: 2 }';
  return { manifest: `${lifecycle}\ncapabilities: { spawn: { allow: [worker] }${capabilities} }\n`, script };
}

/** What the one call of the lead gave, once its task is over. */
async function resultOf(
  capsules: { lead: FormationCapsule; worker: FormationCapsule },
  env: Readonly<Record<string, string>> = {},
): Promise<{ result: string; formation: Formation }> {
  const formation = await start({ capsules, env });
  await formation.send('Begin');
  await formation.tasksEnded(1);
  return { result: formation.results[0] ?? '', formation };
}

function failure(result: string): Readonly<Record<string, unknown>> {
  return JSON.parse(result.split('\n').find((line) => line.startsWith('{')) ?? '') as Record<string, unknown>;
}

describe('a child that does not come up', () => {
  it('on a host below its floor says so in what the call gives [D2-CODE-04] [D2-DELEG-12]', async () => {
    const hands = ', env: { allow: [SVC_CONTAINMENT_CEILING] }';
    const strict = {
      ...worker,
      manifest: `${worker.manifest}capabilities: { containment: sealed, env: { allow: [SVC_CONTAINMENT_CEILING] } }\n`,
    };
    const { result, formation } = await resultOf({ lead: leadWith(hands), worker: strict });
    const failed = failure(result);
    expect(Object.keys(failed)).toEqual(['delegation_id', 'session_id', 'capsule', 'version', 'status', 'output']);
    expect(failed).toMatchObject({ status: 'failed', session_id: '' });
    expect(failed['output']).toMatch(/^it ended before it was up \(exit status 1; [^]*error\[E-CAP-003\]: /);
    expect(formation.delegationStatuses()).toEqual(['failed']);
    expect(formation.alive).toEqual(['lead']);
  });

  it('for want of the key of its provider says so too [D2-CODE-06] [D2-ENV-08]', async () => {
    const { result } = await resultOf(
      { lead: leadWith(''), worker: { ...worker, apiKey: '${PROVIDER_KEY}' } },
      { PROVIDER_KEY: 'sk-of-the-parent' },
    );
    expect(failure(result)['output']).toMatch(/error\[E-MAN-003\]: [^]*PROVIDER_KEY/);
    expect(result).not.toContain('sk-of-the-parent');
  });
});

describe('a child that wants more variables than its parent has', () => {
  it('fails with the key and the name [D2-ENV-09]', async () => {
    const wanting = { ...worker, manifest: `${worker.manifest}capabilities: { env: { allow: [TOKEN] } }\n` };
    const { result, formation } = await resultOf({ lead: leadWith(''), worker: wanting }, { TOKEN: 't-1' });
    expect(result).toMatch(/^capsule worker declares more than its parent holds: .*capabilities\.env\.allow.*TOKEN/);
    expect(formation.delegationStatuses()).toEqual(['refused']);
  });
});

describe('the variables of delegation', () => {
  it.each(['0', '-1', '1.5', 'soon', ''])(
    'an SVC_DELEGATION_TIMEOUT_SECS of %j is ignored: the manifest holds [D2-VAR-06]',
    async (value) => {
      const slow = { ...worker, script: says('One.', 'Count', 600_000) };
      const { formation } = await resultOf(
        { lead: leadWith(''), worker: slow },
        { SVC_DELEGATION_TIMEOUT_SECS: value },
      );
      await formation.tasksEnded(2);
      expect(formation.completion).toMatchObject({
        status: 'terminated',
        detail: expect.stringMatching(/^still running after 2 s; /) as unknown,
      });
    },
  );

  it('SVC_BINARY is what children are started from [D2-VAR-04]', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-binary-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const binary = join(folder, 'svc');
    const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
    writeFileSync(binary, `#!/bin/sh\necho "$1" >> ${folder}/used\nexec ${process.execPath} ${program} "$@"\n`);
    chmodSync(binary, 0o755);
    const { formation } = await resultOf({ lead: leadWith(''), worker }, { SVC_BINARY: binary });
    await formation.tasksEnded(2);
    expect(readFileSync(join(folder, 'used'), 'utf8')).toBe('run\n');
    expect(formation.delegationStatuses()).toEqual(['started', 'ok']);
  });
});
