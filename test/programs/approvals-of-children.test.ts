import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { calls, type Formation, says, useFormations } from '../support/formation.ts';
import { isGone } from '../support/is-gone.ts';
import { ask, svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';

const start = useFormations();

const staysUp = 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\n';
const shell = 'shell: { allow: [touch] }, containment: scoped';

/** A lead, a middle and a deployer that asks about each `touch`; or, without the middle, a lead and a deployer. */
function capsules(names: readonly string[]) {
  const starts = (name: string, when: string): string =>
    [
      calls('delegate-task', { capsule: name, version: '1.0.0', task: 'Go on.' }, when),
      says('It is under way.', when),
      says('Heard.', 'delegation_id'),
    ].join('');
  const [second = 'deployer'] = names;
  const all = names.map((name, index) => [
    name,
    {
      manifest: `${staysUp}capabilities: { ${shell}, spawn: { allow: [${names[index + 1] ?? 'deployer'}] } }\n`,
      script: starts(names[index + 1] ?? 'deployer', 'Go on'),
    },
  ]);
  return {
    ...Object.fromEntries(all),
    lead: {
      manifest: `${staysUp}capabilities: { ${shell}, spawn: { allow: [${second}${second === 'deployer' ? '' : ', deployer'}] } }\n`,
      script: starts(second, 'Start'),
    },
    deployer: {
      manifest: `capabilities: { ${shell} }
approvals: { rules: [{ ask: { command: [touch, "**"] } }] }
`,
      script: [calls('touch', { command: 'pushed' }, 'Go on'), says('Done.', 'Go on')].join(''),
    },
  };
}

async function askA2a(
  { line }: Formation,
  method: string,
  params: unknown,
  token: string,
): Promise<Record<string, unknown>> {
  const response = await fetch(`http://${line.url}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return ((await response.json()) as { result: Record<string, unknown> }).result;
}

interface Open {
  readonly id: string;
  readonly digest: string;
  readonly task_id: string;
}

async function waiting({ line }: Formation): Promise<Open> {
  let open: Open | undefined;
  const look = async (): Promise<boolean> => {
    const { result } = await ask(line.url, 'approvals/list');
    [open] = (result as { approvals: Open[] }).approvals;
    return open !== undefined;
  };
  await expect.poll(look, { timeout: 60_000 }).toBe(true);
  if (open === undefined) throw new Error('nothing waits');
  return open;
}

/** The directories of the session of the lead and of all below it, the outermost first. */
function sessionsBelow({ workspace, line }: Formation): readonly string[] {
  const below = (directory: string): readonly string[] => {
    const children = join(directory, 'children');
    const inner = existsSync(children) ? readdirSync(children) : [];
    const sessions = inner.flatMap((name) => {
      const place = join(children, name, '.svc', 'sessions');
      return existsSync(place) ? readdirSync(place).map((session) => join(place, session)) : [];
    });
    return [directory, ...sessions.flatMap((session) => below(session))];
  };
  return below(join(workspace.folder, '.svc', 'sessions', line.session_id));
}

/** The lines of the `approvals.jsonl` of each. */
function records(formation: Formation): readonly (readonly Record<string, unknown>[])[] {
  return sessionsBelow(formation).map((directory) => {
    const path = join(directory, 'approvals.jsonl');
    if (!existsSync(path)) return [];
    const text = readFileSync(path, 'utf8').trimEnd();
    return text.split('\n').map((row) => JSON.parse(row) as Record<string, unknown>);
  });
}

/** The same, once every one of them is settled. */
async function settledRecords(formation: Formation): Promise<ReturnType<typeof records>> {
  const areSettled = (): boolean => records(formation).every((rows) => rows.some(({ k }) => k === 'settled'));
  await expect.poll(areSettled, { timeout: 30_000 }).toBe(true);
  return records(formation);
}

const env = { SVC_CONTAINMENT_CEILING: 'sealed' };

async function withToken({ workspace }: Formation, name: string, scope: string): Promise<string> {
  return (await svc(workspace, ['token', 'add', name, '--scope', scope])).stdout.trim();
}

describe('a call of a child that a person has to approve', () => {
  it('waits in the session of that person, which believes nobody else to be the child', async () => {
    const formation = await start({ capsules: capsules([]), env, flags: ['--capture', 'content'] });
    const { workspace, line } = formation;
    const anna = await withToken(formation, 'anna', 'read,send,answer');
    await formation.send('Start');
    const open = await waiting(formation);
    expect(open).toMatchObject({
      id: `apr_${open.task_id.slice(4)}_q1`,
      capsule: ['lead', 'deployer'],
      rule: 'approvals.rules[0]',
      effect: { kind: 'command', argv: ['touch', 'pushed'], cwd: '.' },
      options: ['once', 'session'],
      prompt: `deployer: approve this call? ["touch","pushed"] - svc approve ${open.id} answers; a message does not`,
    });
    const deployer = formation.running('deployer');
    const allow = { id: open.id, digest: open.digest, decision: 'allow' };
    const forged = { kind: 'ask', ...open, below: ['another'], expires_at: Date.now() + 60_000 };
    const guessed = `svc_child_${'A'.repeat(43)}`;
    const refused = [
      await ask(line.url, 'approvals/answer', allow),
      await ask(line.url, 'approvals/ask', forged),
      await ask(line.url, 'approvals/ask', forged, anna),
      await ask(line.url, 'approvals/ask', forged, guessed),
      await ask(deployer.url, 'approvals/ask', forged),
      await ask(deployer.url, 'approvals/answer', allow),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 401, 403, 403]);
    expect(await ask(line.url, 'approvals/answer', { ...allow, option: 'manifest' }, anna)).toMatchObject({
      error: { code: -32_602 },
    });
    expect(await ask(line.url, 'approvals/answer', { ...allow, digest: 'sha256:0' }, anna)).toMatchObject({
      error: { code: -32_051 },
    });
    // Neither a key nor a program of the child answers there.
    expect(readdirSync(join(workspace.home, '.svc', 'running')).filter((name) => name.endsWith('.key'))).toHaveLength(
      1,
    );
    expect((await ask(line.url, 'tasks/get', { id: open.task_id })).result).toMatchObject({
      status: { state: 'input-required' },
    });
    expect((await ask(line.url, 'approvals/answer', allow, anna)).result).toMatchObject({ by: 'token:anna' });
    await formation.tasksEnded(3);
    expect(existsSync(join(formation.childDirectory, 'pushed'))).toBe(true);
    const [own, child] = records(formation);
    const { digest } = open;
    const of = child?.[0]?.['id'];
    expect(own).toEqual([
      expect.objectContaining({ k: 'passed', id: open.id, digest, capsule: ['lead', 'deployer'], of }),
      expect.objectContaining({
        k: 'settled',
        id: open.id,
        digest,
        decision: 'allow',
        option: 'once',
        by: 'token:anna',
      }),
    ]);
    expect(child).toMatchObject([
      { k: 'asked', digest, effect: { argv: ['touch', 'pushed'] } },
      { k: 'settled', id: of, digest, decision: 'allow', option: 'once', by: 'token:anna' },
      { k: 'started', id: of, digest },
    ]);
    // The model of the lead had the end of its child as its next message, and no word of the question.
    expect(formation.trace.filter(({ event_type: type }) => type === 'inference')).toHaveLength(3);
    const childSession = sessionsBelow(formation)[1] ?? '';
    formation.lead.child.kill('SIGTERM');
    await formation.lead.ended;
    for (const session of [line.session_id, childSession]) {
      const replayed = await svc(workspace, ['run', '--replay', session], { env });
      expect([replayed.code, replayed.stderr]).toEqual([0, expect.any(String)]);
    }
    expect(records(formation)).toEqual([own, child]);
    // The question is no command that somebody typed, and nothing of it was refused.
    const steps = await svc(workspace, ['trace', 'steps', line.session_id, '--json'], { env });
    expect(steps.stdout.match(/"port":"\w+"/g)).toContain('"port":"task"');
    expect(steps.stdout).not.toContain('"port":"refused"');
  }, 120_000);

  it('takes an answer while that session works on a task of its own', async () => {
    const of = capsules([]);
    const manifest = of.lead.manifest.replace('[touch]', '[touch, sleep]');
    const delegates = calls('delegate-task', { capsule: 'deployer', version: '1.0.0', task: 'Go on.' }, 'Start');
    const script = [delegates, calls('sleep', { command: '600' }, 'Start'), says('Heard.', 'delegation_id')].join('');
    const formation = await start({
      capsules: { ...of, lead: { manifest, script } },
      env,
      flags: ['--capture', 'content'],
    });
    const { workspace, line } = formation;
    const anna = await withToken(formation, 'anna', 'read,send,answer');
    await formation.send('Start');
    const open = await waiting(formation);
    expect(open).toMatchObject({ capsule: ['lead', 'deployer'], effect: { argv: ['touch', 'pushed'] } });
    const running = (await ask(line.url, 'tasks/get')).result as { id: string; status: object };
    expect(running.status).toMatchObject({ state: 'working' });
    expect((await ask(line.url, 'tasks/get', { id: open.task_id })).result).toMatchObject({
      status: { state: 'submitted' },
    });
    const allow = { id: open.id, digest: open.digest, decision: 'allow' };
    expect((await ask(line.url, 'approvals/answer', allow)).status).toBe(403);
    expect((await ask(line.url, 'approvals/answer', allow, anna)).result).toMatchObject({ by: 'token:anna' });
    await expect.poll(() => existsSync(join(formation.childDirectory, 'pushed')), { timeout: 30_000 }).toBe(true);
    expect((await ask(line.url, 'tasks/get')).result).toMatchObject({ id: running.id, status: { state: 'working' } });
    await ask(line.url, 'tasks/cancel', { id: running.id });
    await formation.tasksEnded(3);
    formation.lead.child.kill('SIGTERM');
    await formation.lead.ended;
    const replayed = await svc(workspace, ['run', '--replay', line.session_id], { env });
    expect([replayed.code, replayed.stderr]).toEqual([0, expect.any(String)]);
    expect(records(formation).map((rows) => rows.map(({ k }) => k))).toEqual([
      ['passed', 'settled'],
      ['asked', 'settled', 'started'],
    ]);
  }, 120_000);

  it('goes up through a capsule between, which shows and answers nothing', async () => {
    const formation = await start({ capsules: capsules(['middle']), env });
    const { workspace } = formation;
    const anna = await withToken(formation, 'anna', 'read,send,answer');
    const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Start' }] };
    await askA2a(formation, 'SendMessage', { message, configuration: { returnImmediately: true } }, anna);
    const open = await waiting(formation);
    expect(open).toMatchObject({ capsule: ['lead', 'middle', 'deployer'] });
    // Who gave the task is shown the question as a task of theirs.
    const { tasks } = await askA2a(formation, 'ListTasks', { status: 'TASK_STATE_INPUT_REQUIRED' }, anna);
    expect(tasks).toMatchObject([{ id: open.task_id, status: { message: { parts: [{}, { data: open }] } } }]);
    const middle = await ask(formation.running('middle').url, 'approvals/list');
    expect(middle.result).toEqual({ approvals: [] });
    const answered = await svc(workspace, ['approve', '--deny', '--note', 'not today'], { env });
    expect([answered.code, answered.stdout]).toEqual([0, `${open.id} deny\n`]);
    const [own, passed, child] = await settledRecords(formation);
    const settled = { k: 'settled', digest: open.digest, decision: 'deny', by: 'person' };
    expect(own).toMatchObject([{ k: 'passed', capsule: ['lead', 'middle', 'deployer'] }, settled]);
    expect(passed).toMatchObject([{ k: 'passed', capsule: ['deployer'], of: child?.[0]?.['id'] }, settled]);
    expect(child).toMatchObject([{ k: 'asked' }, settled]);
  }, 120_000);

  it('ends at once where nobody can be asked there', async () => {
    const formation = await start({ capsules: capsules([]), env, flags: ['--capture', 'content'] });
    await formation.send('Start');
    await formation.tasksEnded(2);
    expect(existsSync(join(formation.childDirectory, 'pushed'))).toBe(false);
    expect(records(formation)).toEqual([[], []]);
    expect(formation.lead.stderr).toContain('W-APR-003');
    const journal = join(sessionsBelow(formation)[1] ?? '', 'journal.jsonl');
    expect(readFileSync(journal, 'utf8')).toContain(
      'and nobody can be asked: there is neither a terminal nor an editor',
    );
  }, 120_000);

  it('waits no more once the child is killed, and ends unanswered once its parent is', async () => {
    const formation = await start({ capsules: capsules([]), env });
    const anna = await withToken(formation, 'anna', 'read,answer');
    await formation.send('Start');
    const first = await waiting(formation);
    process.kill(formation.running('deployer').pid, 'SIGKILL');
    await formation.tasksEnded(3);
    const allow = { id: first.id, digest: first.digest, decision: 'allow' };
    expect(await ask(formation.line.url, 'approvals/answer', allow, anna)).toMatchObject({
      error: { code: -32_050, data: { decision: 'canceled', by: 'task' } },
    });
    expect(records(formation)[1]?.map(({ k }) => k)).toEqual(['asked']);
    await formation.send('Start');
    await waiting(formation);
    const { pid } = formation.running('deployer');
    formation.lead.child.kill('SIGKILL');
    await expect.poll(() => isGone(pid), { timeout: 30_000 }).toBe(true);
    const kinds = records(formation).map((rows) => rows.map(({ k }) => k).join(' '));
    expect(kinds[0]).toBe('passed settled passed');
    expect(kinds.slice(1).filter((each) => each.includes('started'))).toEqual([]);
  }, 120_000);
});

describe.skipIf(!hasPseudoTerminals())('a person at the terminal (skipped without python3)', () => {
  it('allows the call of a child of their capsule', async () => {
    const formation = await start({ capsules: capsules([]), env });
    const args = ['run', '--capsule', 'lead', '--capsule-version', '1.0.0', '--task', 'Start'];
    const running = new TerminalProcess(formation.workspace, args, {
      env: { ...env, SVC_REFEREE_URL: formation.referee },
      columns: 120,
    });
    try {
      await running.shows(/^\? lead > deployer wants to run this, and approvals\.rules\[0\] asks you:$/);
      await running.shows(/^ {2}"touch" "pushed"$/);
      await running.shows(/^run it\? y once, s in its session, n no >$/);
      await new Promise((resolve) => setTimeout(resolve, 400));
      running.type('y\r');
      expect(await running.shows(/Heard\./)).toContain('allowed');
    } finally {
      running.child.kill('SIGKILL');
    }
  }, 60_000);
});
