/** The command `svc cancel`: ends a task of a running capsule. */

import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { locateCapsule, sendTokenHelp } from '@svc/record/running/approach-capsule.ts';
import { sessionsFolder, type WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { shortestSuffix } from '@svc/record/sessions/session-names.ts';
import { tasksOfRunning } from '@svc/record/running/session-tasks.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { manifestFlag, manifestHelp } from '../../command/session-arguments.ts';
import { type CapsuleOptions, isLive, OpenCapsule, runningSessionHelp } from './open-capsule.ts';
import { objectOf } from './send.ts';

/** `svc cancel <session> [task]`: the task that runs where none is named; the capsule stays up. */
export function cancelCommand(context: CommandContext): Command {
  return new Command('cancel')
    .description('Cancel a task of a running capsule; the capsule stays up.')
    .argument('<session>', runningSessionHelp)
    .argument('[task]', 'task id, or at least 4 of its last characters; the one that runs when absent')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object')
    .option('--send-token', sendTokenHelp)
    .addHelpText('after', '\nExample:\n  svc cancel 4f1a')
    .action(async (wanted: string, named: string | undefined, options: CapsuleOptions & WorkspaceOption) => {
      const capsule = await OpenCapsule.open(context, wanted, { ...options, method: 'tasks/cancel' });
      const id = named === undefined ? await runningTask(capsule) : taskNamed(context, { wanted, named, ...options });
      const before = await capsule.ask((client) => client.task(id));
      if (!isLive(before.state)) throw nothingToCancel(`${id} is ${before.state}`);
      const task = await capsule.ask((client) => client.cancel(id));
      context.stdout.write(
        options.json === true ? jsonLine(objectOf(capsule, task, false)) : say`${task.id} ${task.state}\n`,
      );
    });
}

async function runningTask(capsule: OpenCapsule): Promise<string> {
  const task = await capsule.currentTask();
  if (task === null) throw nothingToCancel('no task has run yet');
  return task.id;
}

function taskNamed(
  context: CommandContext,
  { wanted, named, manifest }: WorkspaceOption & { readonly wanted: string; readonly named: string },
): string {
  const { record } = locateCapsule(context.home, wanted);
  const suffix = named.replace(/^…/, '');
  const ids =
    record === null
      ? [suffix]
      : tasksOfRunning(record, sessionsFolder(context, { manifest })).tasks.map(({ task }) => task);
  const matches = suffix.length < shortestSuffix ? [] : ids.filter((id) => id.endsWith(suffix));
  const [match, another] = matches;
  if (match === undefined) throw nothingToCancel(`no task of the session is ${named}`);
  if (another === undefined) return match;
  throw nothingToCancel(`${named} fits more than one task: ${matches.join(', ')}`);
}

function nothingToCancel(why: string): Diagnostic {
  return new Diagnostic('E-RUN-095', `no task was canceled: ${why}`, {
    hint: 'svc tasks lists the tasks of a session',
  });
}
