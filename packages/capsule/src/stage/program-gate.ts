/** Has the rules of `approvals` decide about the programs that commands, native tools and servers of a session start. */

import { OutputTail } from '@svc/sandbox/launched-process.ts';
import type { ProgramJudge } from '@svc/sandbox/launcher.ts';
import { ProgramRules } from '@svc/session/approvals/program-rules.ts';
import { type PreparedLaunch, unjudged } from '../launch/prepare.ts';
import type { LateGrantUsage } from './late-grant-usage.ts';
import type { SessionGate } from './session-processes.ts';
import { capsuleProcesses, hasPrograms, type StageParts } from './stage-parts.ts';

/** Returns null where no rule is about programs, or nothing could start one. Outside of calls nobody is asked, so that `ask` kills as `deny` does. */
export function openGate(
  launch: PreparedLaunch,
  { onProgramKilled }: Pick<LateGrantUsage, 'onProgramKilled'>,
): SessionGate | null {
  const { approvals } = launch.loaded.manifest;
  const rules = new ProgramRules(approvals ?? { rules: [] });
  const { names } = rules;
  if (names === null || !hasPrograms(launch)) return null;
  const ofCall = (judge: ProgramJudge): ProgramJudge => ({
    judge: async (program) => {
      const runs = await judge.judge(program);
      if (!runs) onProgramKilled(program.argv.join(' '), rules.of(program)?.rule ?? 'approvals.rules');
      return runs;
    },
  });
  return { names, ofCall, otherwise: ofCall({ judge: async (program) => rules.of(program) === null }) };
}

/** Tries it once before the first turn: a program starts another, which has to wait. Throws `E-APR-004`. */
export async function tryGate({ launch, processes }: Pick<StageParts, 'launch' | 'processes'>): Promise<void> {
  const { project: _, ...grants } = capsuleProcesses(launch);
  let hasWaited = false;
  const otherwise: ProgramJudge = {
    judge: async ({ argv: [first] }) => {
      hasWaited ||= first === 'true';
      return true;
    },
  };
  const launcher = processes.launcher({ ...grants, commands: ['true'], gate: { names: ['true'], otherwise } });
  const env = processes.environment([]);
  const outcome = await launcher.launch({ command: 'env', args: ['true'], env, stdin: 'null' });
  if (outcome.kind === 'refused') throw unjudged(`env could not be started: ${outcome.reason}`);
  const { stdout, stderr, ended } = outcome.process;
  const said = new OutputTail(1024);
  await Promise.all([said.read(stderr), new OutputTail(0).read(stdout), ended]);
  if (!hasWaited) throw unjudged(`a program that was tried did not wait: ${said.text()}`);
}
