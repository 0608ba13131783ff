/** The command `svc tasks`: lists the tasks of a session. */

import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { shownCount, shownDuration } from '@svc/kit/shown-values.ts';
import { locateCapsule, type LocatedCapsule, sendTokenHelp } from '@svc/record/running/approach-capsule.ts';
import {
  holdSession,
  isUnstarted,
  locateSession,
  neverStarted,
  folderOfSession,
  sessionsFolder,
  type WorkspaceOption,
} from '@svc/record/sessions/recorded-sessions.ts';
import { linesLeftOut } from '@svc/record/sessions/trace-events.ts';
import { type ListedTask, tasksIn, tasksOfRunning, type TracedTasks } from '@svc/record/running/session-tasks.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { manifestFlag, manifestHelp } from '../../command/session-arguments.ts';
import { type CapsuleOptions, isLive, OpenCapsule, runningSessionHelp } from './open-capsule.ts';

const columns: readonly Column[] = [
  { title: 'TASK', keeps: 8 },
  { title: 'STATE' },
  { title: 'AGE' },
  { title: 'TOKENS' },
  { title: 'TEXT', keeps: 4 },
];
/** Only where a task has failed. */
const reasonColumn: Column = { title: 'REASON', keeps: 4 };

/** What became of a task whose end its session has not reported: one that waited is dropped without a word. */
const leftAs: Readonly<Record<string, string>> = { submitted: 'not-started', working: 'not-ended' };

type TasksOptions = CapsuleOptions & WorkspaceOption;

/** `svc tasks [session]`: of a session that runs, with what its tasks wait for; of one that has ended, as its trace has them. */
export function tasksCommand(context: CommandContext): Command {
  return new Command('tasks')
    .description('List the tasks of a session.')
    .argument('[session]', `${runningSessionHelp}; the newest when absent`)
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object per line')
    .option('--send-token', sendTokenHelp)
    .addHelpText('after', '\nExample:\n  svc tasks 4f1a')
    .action(async (wanted: string | undefined, options: TasksOptions) => {
      const located = running(context, wanted);
      const tasks =
        located === null ? recordedTasks(context, wanted, options) : await liveTasks(context, wanted, options);
      if (options.json === true) for (const task of tasks) context.stdout.write(jsonLine(task));
      else if (tasks.length === 0) context.stderr.write(say`the session has had no task\n`);
      else context.stdout.write(tableOf(tasks, context));
    });
}

function tableOf(tasks: readonly ListedTask[], { stdout }: CommandContext): Shown {
  if (tasks.every(({ reason }) => reason === null)) return renderTable(columns, tasks.map(rowOf), stdout);
  const rows = tasks.map((task) => [...rowOf(task), task.reason ?? '-']);
  return renderTable([...columns, reasonColumn], rows, stdout);
}

/** Returns null where no session that runs is named so. */
function running({ home }: CommandContext, wanted: string | undefined): LocatedCapsule | null {
  try {
    return locateCapsule(home, wanted);
  } catch (error) {
    if (error instanceof Diagnostic && error.code === 'E-RUN-026') return null;
    throw error;
  }
}

function recordedTasks(
  context: CommandContext,
  wanted: string | undefined,
  options: WorkspaceOption,
): readonly ListedTask[] {
  const folder = folderOfSession(context, options, wanted);
  const id = locateSession(folder, wanted);
  const directory = holdSession(folder, id);
  try {
    if (isUnstarted(directory)) throw neverStarted(id);
    const tasks: ListedTask[] = [];
    for (const task of inTrace(tasksIn(directory), id, context))
      tasks.push({ ...task, state: leftAs[task.state] ?? task.state });
    return tasks;
  } finally {
    directory.close();
  }
}

/** Standard error says what of the trace was passed over. */
function inTrace({ tasks, unreadLines }: TracedTasks, session: string, context: CommandContext): readonly ListedTask[] {
  if (unreadLines > 0) context.stderr.write(render([linesLeftOut(session, unreadLines)], context));
  return tasks;
}

/** Reads the trace where it is of this user, with the state that the capsule reports of those that have not ended. */
async function liveTasks(
  context: CommandContext,
  wanted: string | undefined,
  options: TasksOptions,
): Promise<readonly ListedTask[]> {
  const { record } = locateCapsule(context.home, wanted);
  const traced =
    record === null
      ? []
      : inTrace(tasksOfRunning(record, sessionsFolder(context, options)), record.session_id, context);
  const capsule = await OpenCapsule.open(context, wanted, { ...options, method: 'tasks/get' });
  if (traced.length === 0) {
    const current = await capsule.currentTask();
    if (current === null) return [];
    const { id, contextId, state, prompt } = current;
    return [
      {
        task: id,
        context: contextId,
        state,
        received_at_ms: null,
        ended_at_ms: null,
        tokens: null,
        text: null,
        prompt,
        reason: null,
      },
    ];
  }
  const tasks: ListedTask[] = [];
  for (const task of traced) {
    const now = isLive(task.state) ? await capsule.ask((client) => client.task(task.task)) : null;
    tasks.push(now === null ? task : { ...task, state: now.state, prompt: now.prompt });
  }
  return tasks;
}

function rowOf({ task, state, received_at_ms: at, tokens, text, prompt }: ListedTask): readonly string[] {
  return [
    `…${task.slice(-8)}`,
    state,
    at === null ? '-' : shownDuration(Math.max(0, systemClock.now() - at)),
    tokens === null ? '-' : shownCount(tokens),
    prompt === null ? (text ?? '-') : `? ${prompt}`,
  ];
}
