/** The command `svc send`: sends a message to a running capsule. */

import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TaskFacts } from '@svc/protocol/task-object.ts';
import { sendTokenHelp } from '@svc/record/running/approach-capsule.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { quoted } from '@svc/terminal/screen/page.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { jsonLine, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { taskFailed } from '../../command/task-failed.ts';
import { type AskedText, notBlank, readTaskInput } from '../../command/task-input.ts';
import { endedReason } from '../../shown/ended-reason.ts';
import { type CapsuleOptions, OpenCapsule, runningSessionHelp } from './open-capsule.ts';

const maxPrompt = 200;

/** `svc send <session> <text>`: starts a task, or answers the one that waits for input (docs/cli.md "svc send"). */
export function sendCommand(context: CommandContext): Command {
  return new Command('send')
    .description('Send a message to a running capsule.')
    .argument('<session>', runningSessionHelp)
    .argument('<text>', 'the message; - reads standard input')
    .option('--wait', 'wait until the task has ended, and write its answer')
    .option('--json', 'write one JSON object')
    .option('--send-token', sendTokenHelp)
    .addHelpText('after', '\nExample:\n  svc send 4f1a --wait "run the tests again"')
    .action(async (wanted: string, text: string, options: CapsuleOptions & { readonly wait?: boolean }) => {
      const message = await givenText(text, context, aMessage);
      const isWaiting = options.wait === true;
      const method = isWaiting ? 'stream/watch' : 'message/send';
      const capsule = await OpenCapsule.open(context, wanted, { ...options, method });
      const running = await taskBefore(capsule);
      const task = await (isWaiting ? taskToItsEnd(capsule, message) : capsule.ask((client) => client.send(message)));
      // A message that begins a task gets a task of its own.
      const isAnswer = running?.id === task.id;
      if (isAnswer) context.stderr.write(answerTo(running));
      if (options.json === true) context.stdout.write(jsonLine(objectOf(capsule, task, isAnswer)));
      else if (!isWaiting && task.state !== 'rejected') context.stdout.write(say`${task.id} ${task.state}\n`);
      else if (task.state === 'completed') context.stdout.write(quoted(context.stdout, task.response ?? ''));
      const failure = failureOf(task, capsule.session);
      if (failure !== null) throw failure;
    });
}

const aMessage: AskedText = { what: 'message', hint: 'svc send <session> "<text>" gives one' };

/** An argument, or for `-` all of standard input; `E-RUN-060` and `E-RUN-024` as for `svc run --task -`. */
export async function givenText(text: string, context: CommandContext, asked: AskedText): Promise<string> {
  if (text !== '-') return notBlank(text, asked);
  return await readTaskInput(process.stdin, { context, stop: new AbortController().signal, asked });
}

async function taskToItsEnd(capsule: OpenCapsule, text: string): Promise<TaskFacts> {
  const leave = new AbortController();
  const run = capsule.client.run(text, {
    signal: leave.signal,
    onInput: ({ prompt, task }) => {
      leave.abort(asksBack(prompt, task.id, capsule.session));
      return null;
    },
  });
  return await capsule.ask(async () => {
    for (;;) {
      const next = await run.next();
      if (next.done === true) return next.value;
    }
  });
}

function asksBack(prompt: string, task: string, session: string | null): Diagnostic {
  return new Diagnostic('E-RUN-094', `${task} waits for an answer: ${prompt}`, {
    hint: `svc answer ${session ?? '<session>'} "…" gives one, svc cancel ends the task`,
  });
}

/** The task that runs, or the last one; null when there was no task, and for a capsule that does not say. */
async function taskBefore(capsule: OpenCapsule): Promise<TaskFacts | null> {
  try {
    return await capsule.currentTask();
  } catch (error) {
    if (error instanceof Diagnostic) return null;
    throw error;
  }
}

function answerTo({ id, prompt }: TaskFacts): Shown {
  const question = prompt === null ? '' : `: ${inertLine(prompt, maxPrompt)}`;
  return say`the message is the answer to the question that ${id} waited with${question}\n`;
}

/** One object of `--json`. `isAnswer` when a question got the text, and no task began with it. */
export function objectOf(
  { session }: OpenCapsule,
  task: TaskFacts,
  isAnswer: boolean,
): Readonly<Record<string, string | boolean | null>> {
  const { id, contextId, state, message, prompt, response } = task;
  return { session, task: id, context: contextId, state, is_answer: isAnswer, message, prompt, response };
}

function failureOf({ id, state, message, response }: TaskFacts, session: string | null): Diagnostic | null {
  if (state === 'rejected')
    return new Diagnostic('E-RUN-092', `the capsule took no task: ${message ?? 'it did not say why'}`, {
      hint: 'svc tasks lists what it works on; lifecycle.queue_depth of its manifest says how many tasks may wait',
    });
  if (state !== 'failed' && state !== 'canceled') return null;
  return taskFailed(endedReason({ state, message: message ?? '', response }) || 'the capsule did not say why', {
    what: `${id} ${state}`,
    hint: `svc trace show ${session ?? '<session>'} shows what it did`,
  });
}
