/** Finds the task of `svc -p`: its text, standard input, or both. */

import { fstatSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { type InitialTask, looksLikePath } from '@svc/capsule/launch/initial-task.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { readInput, readTaskInput } from '../../command/task-input.ts';

/** The options that decide the task. */
interface TaskOptions {
  /** True for `-p` without a text. */
  readonly print?: string | true;
  readonly task?: string;
}

interface TaskSurroundings {
  readonly context: CommandContext;
  readonly stop: AbortSignal;
  /** Finds the task as every other run does. */
  readonly find: () => Promise<InitialTask | null>;
}

/** After this long, a message says what `svc` waits for. */
const patienceMs = 3000;

/**
 * The task of a script: the text of `-p` with the piped text after it, else `--task` with that after it, else the piped text, else
 * `task.md`. Throws `E-RUN-024` without any of them: nobody would send a task.
 */
export async function taskOfScript(options: TaskOptions, surroundings: TaskSurroundings): Promise<InitialTask> {
  const { context, stop, find } = surroundings;
  const { print, task } = options;
  if (print === '-') return { text: await readTaskInput(process.stdin, { context, stop }), warnings: [] };
  const given = typeof print === 'string' ? textOf(print) : task === undefined ? null : await find();
  if (task === '-' && given !== null) return given;
  const piped = await pipedInput(context, stop);
  if (given !== null) return { ...given, text: piped === null ? given.text : `${given.text}\n\n${piped}` };
  const found = piped === null ? await find() : { text: piped, warnings: [] };
  if (found !== null) return found;
  throw new Diagnostic('E-RUN-024', 'there is no task, and nobody can send one to svc -p', {
    hint: 'give it as svc -p "<task>", through a pipe, with --task, or in task.md beside the manifest',
  });
}

function textOf(text: string): InitialTask {
  if (text.trim() === '')
    throw new Diagnostic('E-RUN-024', 'the task is empty (-p)', { hint: 'say what the capsule is to do' });
  if (!looksLikePath(text)) return { text, warnings: [] };
  const message = `-p takes a text: the model is given the words ${text} as its task`;
  return { text, warnings: [new Diagnostic('W-RUN-001', message, { hint: `to read a file: --task ${text}` })] };
}

/** Returns all of standard input where it is a pipe, a socket or a file; null where it is anything else, or holds only space. */
async function pipedInput(context: CommandContext, stop: AbortSignal): Promise<string | null> {
  if (!isPiped()) return null;
  const notice = setTimeout(() => {
    const waiting = new Diagnostic('W-RUN-065', 'waiting for the end of standard input, which is part of the task', {
      hint: 'end it, or run svc with < /dev/null when it is to be left alone',
    });
    context.stderr.write(render([waiting], context));
  }, patienceMs);
  try {
    const text = await readInput(process.stdin, stop);
    return text.trim() === '' ? null : text;
  } finally {
    clearTimeout(notice);
  }
}

function isPiped(): boolean {
  const found = unlessRefused(() => fstatSync(0, { bigint: true }), null);
  return found !== null && (found.isFIFO() || found.isSocket() || found.isFile());
}
