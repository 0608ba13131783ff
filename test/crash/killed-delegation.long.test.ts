import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { startReferee } from '../../packages/referee/test/referee-process.ts';
import { publish } from '../support/formation.ts';
import { message, rpc, startCapsule, type RunLine, type SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? 8);

/** From the message to the end of a child that nobody kills, and a little more. */
const spreadMs = 1200;
/** A child looks for its parent twice a second, and ends in order. */
const patienceMs = 25_000;

const leadScript = `
- when: Go
  content: [{ type: tool_call, id: c, name: delegate-task, input: { capsule: worker, version: 1.0.0, task: Work. } }]
  stop_reason: tool_call
- content: [{ type: text, text: Noted. }]
  stop_reason: end_turn
`;
const workerScript = `
- delay_ms: 300
  content: [{ type: text, text: Worked. }]
  stop_reason: end_turn
`;

const hearsOfEnds = 'lifecycle: { task_acceptance: queue, queue_depth: 8, after_task: sleep }\n';

const ends = ['ok', 'error', 'crashed', 'terminated'];

describe(`a delegation whose child or parent is killed at any moment, ${rounds} rounds`, () => {
  let workspace: Workspace;

  beforeAll(async () => {
    workspace = await publish({
      lead: { manifest: `${hearsOfEnds}capabilities: { spawn: { allow: [worker] } }\n`, script: leadScript },
      worker: { manifest: 'lifecycle: { task_acceptance: single }\n', script: workerScript },
    });
  }, 120_000);

  afterAll(() => workspace.remove());

  it(
    'ends in one completion record, and leaves no process',
    async () => {
      // Sessions that are killed cannot deregister: what they held counts to the end.
      const ceiling = ['--max-live-capsules', String(4 * rounds + 8)];
      const env = { HOME: workspace.home };
      const { port } = await startReferee(['--spawn-allow', 'lead', ...ceiling], { env });
      const startLead = async (): Promise<{ process: SvcProcess; line: RunLine }> =>
        await startCapsule(workspace, ['--manifest', 'lead/svc.yaml'], {
          env: { SVC_REFEREE_URL: `http://127.0.0.1:${port}` },
        });
      for (let round = 0; round < rounds; round += 1) {
        const lead = await startLead();
        void rpc(lead.line.url, 'message/send', message('Go.')).catch(() => undefined);
        await delay((spreadMs * (Math.floor(round / 2) + 0.5)) / Math.ceil(rounds / 2));
        if (round % 2 === 0) await killChild(lead);
        else lead.process.child.kill('SIGKILL');
        await lead.process.ended;
        expect(await leftOf(lead.line)).toEqual([]);
        checkRecords(lead.line, round % 2 === 0);
      }
      const lead = await startLead();
      await rpc(lead.line.url, 'message/send', message('Go.'));
      expect(await endOf(lead.line)).toMatchObject({ status: 'ok' });
      lead.process.child.kill('SIGTERM');
      await lead.process.ended;
    },
    rounds * 45_000,
  );

  /** Kills the child there is, waits for what its parent makes of it, and stops the parent. */
  async function killChild({ process: lead, line }: { process: SvcProcess; line: RunLine }): Promise<void> {
    const victims = childrenOf(line.pid);
    for (const pid of victims) process.kill(pid, 'SIGKILL');
    await endOf(line);
    lead.child.kill('SIGTERM');
  }

  function traceOf(line: RunLine): readonly Record<string, unknown>[] {
    const path = join(workspace.folder, 'lead/.svc/sessions', line.session_id, 'trace.jsonl');
    return readTrace(path).filter(({ event_type: type }) => type === 'delegation');
  }

  /** The line of the trace that says how the delegation, or the attempt at one, came out. */
  async function endOf(line: RunLine): Promise<Record<string, unknown> | undefined> {
    for (const deadline = performance.now() + patienceMs; performance.now() < deadline; await delay(20)) {
      const end = traceOf(line).find(({ status }) => [...ends, 'failed'].includes(String(status)));
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /** What still runs of the lead and below it once everything had its time to end. */
  async function leftOf(line: RunLine): Promise<readonly string[]> {
    let left = runningIn(line.workdir);
    for (const deadline = performance.now() + patienceMs; left.length > 0 && performance.now() < deadline;) {
      await delay(20);
      left = runningIn(line.workdir);
    }
    return left;
  }

  function checkRecords(line: RunLine, parentLived: boolean): void {
    const delegations = traceOf(line);
    const started = delegations.filter(({ status }) => status === 'started').map((each) => each['delegation_id']);
    const records = recordsIn(line.workdir);
    for (const id of started) {
      const [record, ...more] = records.filter((each) => each['delegation_id'] === id);
      expect(more, 'a second record').toEqual([]);
      expect(ends, `the record of ${String(id)}`).toContain(record?.['status']);
      if (!parentLived) continue;
      expect(record).toMatchObject({ delivered: true });
      const told = delegations.filter((each) => each['delegation_id'] === id && each['status'] !== 'started');
      expect(told.map(({ status }) => status)).toEqual([record?.['status']]);
    }
  }
});

function recordsIn(workdir: string): readonly Record<string, unknown>[] {
  const children = join(workdir, '.svc/children');
  if (!existsSync(children)) return [];
  return readdirSync(children).flatMap((child) => {
    const path = join(children, child, 'completion.json');
    return existsSync(path) ? [JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>] : [];
  });
}

function childrenOf(pid: number): readonly number[] {
  return commandLines().flatMap(({ pid: child, words }) =>
    words.at(words.indexOf('--spawned-by') + 1) === String(pid) && words.includes('--spawned-by') ? [child] : [],
  );
}

/** Command lines of `svc` that name something in this workdir. */
function runningIn(workdir: string): readonly string[] {
  return commandLines().flatMap(({ words }) =>
    words.some((word) => word.startsWith(workdir)) ? [words.join(' ')] : [],
  );
}

function commandLines(): readonly { readonly pid: number; readonly words: readonly string[] }[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      return [{ pid: Number(entry), words: readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0') }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}
