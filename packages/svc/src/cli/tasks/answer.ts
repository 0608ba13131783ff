/** The command `svc answer`: answers the question that a task waits with. */

import { createInterface } from 'node:readline';
import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { sendTokenHelp } from '../approach-capsule.ts';
import type { CommandContext } from '../command-context.ts';
import { quoted } from '../terminal/page.ts';
import { jsonLine, say } from '../terminal/shown.ts';
import { type CapsuleOptions, OpenCapsule, runningSessionHelp } from './open-capsule.ts';
import { messageFromInput, objectOf } from './send.ts';

/** `svc answer <session> [text]`: on a terminal and without a text, shows the question and reads one line. */
export function answerCommand(context: CommandContext): Command {
  return new Command('answer')
    .description('Answer the question that a running capsule waits with.')
    .argument('<session>', runningSessionHelp)
    .argument('[text]', 'the answer; - reads standard input, and so does its absence where that is no terminal')
    .option('--json', 'write one JSON object')
    .option('--send-token', sendTokenHelp)
    .addHelpText('after', '\nExample:\n  svc answer 4f1a "the blue one"')
    .action(async (wanted: string, text: string | undefined, options: CapsuleOptions) => {
      const capsule = await OpenCapsule.open(context, wanted, { ...options, method: 'message/send' });
      const asked = await waitingTask(capsule);
      const answer = text === undefined || text === '-' ? await readAnswer(context, text, asked.prompt) : text;
      // A message that nobody waits for any more would start another task.
      const still = await waitingTask(capsule);
      if (still.id !== asked.id || still.prompt !== asked.prompt) throw noQuestion('another question has come');
      const task = await capsule.ask((client) => client.send(answer, { contextId: asked.contextId }));
      context.stdout.write(options.json === true ? jsonLine(objectOf(capsule, task)) : say`${task.id} ${task.state}\n`);
    });
}

interface Asked {
  readonly id: string;
  readonly contextId: string;
  readonly prompt: string;
}

async function waitingTask(capsule: OpenCapsule): Promise<Asked> {
  const task = await capsule.currentTask();
  if (task === null) throw noQuestion('no task has run yet');
  if (task.state !== 'input-required') throw noQuestion(`${task.id} is ${task.state}`);
  return { ...task, prompt: task.prompt ?? '' };
}

function noQuestion(why: string): Diagnostic {
  return new Diagnostic('E-RUN-093', `there is no question to answer: ${why}`, {
    hint: 'svc send sends a message; svc tasks shows what tasks wait for',
  });
}

async function readAnswer(context: CommandContext, text: string | undefined, prompt: string): Promise<string> {
  if (text === '-' || !process.stdin.isTTY) return await messageFromInput(context);
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
