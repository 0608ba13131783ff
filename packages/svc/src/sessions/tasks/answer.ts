/** The command `svc answer`: answers the question that a task waits with. */

import { createInterface } from 'node:readline';
import { Command } from 'commander';

import type { CapsuleClient } from '@svc/client/capsule-client.ts';
import { ClientError } from '@svc/client/client-error.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TaskFacts } from '@svc/protocol/task-object.ts';
import { sendTokenHelp } from '@svc/record/running/approach-capsule.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { quoted } from '@svc/terminal/screen/page.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import type { AskedText } from '../../command/task-input.ts';
import { type CapsuleOptions, OpenCapsule, runningSessionHelp } from './open-capsule.ts';
import { givenText, objectOf } from './send.ts';

/** `svc answer <session> [text]`: on a terminal and without a text, shows the question and reads one line. */
export function answerCommand(context: CommandContext): Command {
  return new Command('answer')
    .description('Answer the open question of a running capsule.')
    .argument('<session>', runningSessionHelp)
    .argument('[text]', 'the answer; - reads standard input, and so does its absence where that is no terminal')
    .option('--json', 'write one JSON object')
    .option('--send-token', sendTokenHelp)
    .addHelpText('after', '\nExample:\n  svc answer 4f1a "the blue one"')
    .action(async (wanted: string | undefined, text: string | undefined, options: CapsuleOptions) => {
      const capsule = await OpenCapsule.open(context, wanted, { ...options, method: 'stream/watch' });
      const asked = await openQuestion(capsule);
      const answer = await readAnswer(context, text, asked.prompt);
      const task = await given(answer, asked, capsule);
      context.stdout.write(
        options.json === true ? jsonLine(objectOf(capsule, task, true)) : say`${task.id} ${task.state}\n`,
      );
    });
}

interface Asked {
  readonly id: string;
  readonly contextId: string;
  readonly prompt: string;
  /** It is null for a capsule where questions have no names. */
  readonly waitId: string | null;
}

/** A question may come between two looks; another capsule than `svc` may claim so for ever. */
const maxLooks = 3;

/** What waits for an answer, as the capsule names it. Throws `E-RUN-093` where nothing does. */
async function openQuestion(capsule: OpenCapsule): Promise<Asked> {
  for (let look = 0; look < maxLooks; look += 1) {
    const snapshot = await capsule.ask((client) => client.snapshot());
    if (snapshot?.methods.includes('tasks/answer') !== true) return await waitingTask(capsule);
    for (const { taskId: id, contextId, question } of snapshot.tasks) {
      if (question !== null) return { id, contextId, ...question };
    }
    await waitingTask(capsule);
  }
  throw noQuestion('questions come and go');
}

/** The task that has got the answer. Throws `E-RUN-093` where it does not ask that any more. */
async function given(answer: string, asked: Asked, capsule: OpenCapsule): Promise<TaskFacts> {
  const { id, waitId, contextId } = asked;
  if (waitId !== null) {
    const task = await capsule.ask((client) => answeredByName(client, { id, waitId, answer }), 'tasks/answer');
    if (task === 'not-open') throw noQuestion(`${id} does not wait with that question any more`);
    if (task !== 'not-served') return task;
  }
  // A message that nobody waits for any more would start another task.
  const still = await waitingTask(capsule);
  if (still.id !== id || still.prompt !== asked.prompt) throw noQuestion('another question has come');
  return await capsule.ask((client) => client.send(answer, { contextId }), 'message/send');
}

const questionNotOpen = -32_010;

async function answeredByName(
  client: CapsuleClient,
  { id, waitId, answer }: { readonly id: string; readonly waitId: string; readonly answer: string },
): Promise<TaskFacts | 'not-open' | 'not-served'> {
  try {
    return await client.answer(id, waitId, answer);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error.fault === questionNotOpen) return 'not-open';
    if (error.code === 'not-served') return 'not-served';
    throw error;
  }
}

async function waitingTask(capsule: OpenCapsule): Promise<Asked> {
  const task = await capsule.currentTask();
  if (task === null) throw noQuestion('no task has run yet');
  if (task.state !== 'input-required') throw noQuestion(`${task.id} is ${task.state}`);
  return { ...task, prompt: task.prompt ?? '', waitId: null };
}

function noQuestion(why: string): Diagnostic {
  return new Diagnostic('E-RUN-093', `there is no question to answer: ${why}`, {
    hint: 'svc send sends a message; svc tasks shows what tasks wait for',
  });
}

const anAnswer: AskedText = { what: 'answer', hint: 'svc answer <session> "<text>" gives one' };

async function readAnswer(context: CommandContext, text: string | undefined, prompt: string): Promise<string> {
  if (text !== undefined || !process.stdin.isTTY) return await givenText(text ?? '-', context, anAnswer);
  context.stderr.write(quoted(context.stderr, prompt));
  context.stderr.write(say`answer> `);
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    for await (const line of lines) if (line.trim() !== '') return line;
  } finally {
    lines.close();
  }
  throw noQuestion('no answer was given');
}
