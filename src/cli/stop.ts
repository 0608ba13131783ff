import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import * as z from 'zod/mini';

import { isAlive, type RunningRecord } from '../capsule/running-record.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { callCapsule } from './capsule-client.ts';
import type { CommandContext } from './command-context.ts';
import { locateCapsule } from './locate-capsule.ts';

/** A capsule whose `after_task` is `exit` ends by itself within this time once its tasks are stopped. */
const ownEndMs = 2000;
/** What `svc run` takes at most after a signal (contracts §2). */
const signaledEndMs = 20_000;
const pollMs = 20;

const stopResult = z.object({
  session_id: z.string(),
  canceled: z.array(z.string()),
  residue: z.array(z.unknown()),
});

/** `svc stop`: calls `session/stop`, waits, then signals (contracts §1). */
export function stopCommand(context: CommandContext): Command {
  return new Command('stop')
    .description('Stop a running capsule: its tasks are canceled, then its process ends.')
    .argument('[session]', 'session id, at least 4 of its last characters, or host:port; the newest when absent')
    .action(async (wanted: string | undefined) => {
      const { address, record } = locateCapsule(context.home, wanted);
      const token = context.env['SVC_LISTENER_TOKEN'];
      const answer = await callCapsule({ address, method: 'session/stop', params: {}, token });
      const parsed = stopResult.safeParse(answer);
      if (!parsed.success) {
        throw new Diagnostic('E-IO-003', `the capsule at ${address} answered session/stop with an unknown shape`);
      }
      const { canceled, residue, session_id: sessionId } = parsed.data;
      const tasks = `${canceled.length} ${canceled.length === 1 ? 'task' : 'tasks'} canceled`;
      if (record !== null) await endProcess(record);
      const left = residue.length === 0 ? '' : `, left running: ${JSON.stringify(residue)}`;
      const end = record === null ? `; the process at ${address} is not of this user and was not signaled` : '';
      context.stderr.write(`stopped ${sessionId}: ${tasks}${left}${end}\n`);
    });
}

async function endProcess(record: RunningRecord): Promise<void> {
  if (await hasEnded(record, ownEndMs)) return;
  process.kill(record.pid, 'SIGTERM');
  if (await hasEnded(record, signaledEndMs)) return;
  throw new Diagnostic('E-RUN-027', `process ${record.pid} of ${record.session_id} did not end within 20 s`, {
    hint: `end it with kill -9 ${record.pid}; its trace stays readable`,
  });
}

async function hasEnded(record: RunningRecord, withinMs: number): Promise<boolean> {
  for (let waited = 0; waited < withinMs; waited += pollMs) {
    if (!isAlive(record)) return true;
    await delay(pollMs);
  }
  return !isAlive(record);
}
