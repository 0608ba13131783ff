/** Reads the task of `svc run --task -` from standard input. */

import type { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { say } from '@svc/terminal/screen/shown.ts';

/** The limit of a file that holds a task. */
const largestTask = 10 * 1024 * 1024;
const whatFits = 'give the model a text, and put anything larger into the workdir';

/** What a text that was asked for is called, and how else it can be given. */
export interface AskedText {
  readonly what: 'task' | 'message' | 'answer';
  readonly hint: string;
}

const aTask: AskedText = {
  what: 'task',
  hint: 'write what the capsule is to do to standard input, or give it with --task <text>',
};

const standardInput = 0;

/** What the text is read from: of a terminal a stream of its own, so that keys can be read from `process.stdin` once that has ended. */
export function inputOf(stdin: NodeJS.ReadStream): Readable & { readonly isTTY?: boolean } {
  return stdin.isTTY ? new ReadStream(standardInput) : stdin;
}

/**
 * The whole of standard input as it came, of at most 10 MiB. Throws `E-RUN-060` when it is larger, is no UTF-8 text, cannot be read or `stop` is
 * aborted before its end; `E-RUN-024` when it is empty. A hint shows a person at a terminal how to end it.
 */
export async function readTaskInput(
  stdin: Readable & { readonly isTTY?: boolean },
  {
    context,
    stop,
    asked = aTask,
  }: { readonly context: CommandContext; readonly stop: AbortSignal; readonly asked?: AskedText },
): Promise<string> {
  if (stdin.isTTY === true)
    context.stderr.write(say`reading the ${asked.what} from this terminal; Ctrl-D on an empty line ends it\n`);
  return notBlank(await readInput(stdin, stop), asked, ' (standard input)');
}

/** The text itself; `E-RUN-024` where it is blank. */
export function notBlank(text: string, { what, hint }: AskedText, from = ''): string {
  if (text.trim() !== '') return text;
  throw new Diagnostic('E-RUN-024', `the ${what} is empty${from}`, { hint });
}

/** The same without a hint; empty where standard input is. */
export async function readInput(stdin: Readable, stop: AbortSignal): Promise<string> {
  const text = decodeStrictUtf8(await readAll(stdin, stop));
  if (text === null) throw unreadable('it is not UTF-8 text', whatFits);
  return text;
}

async function readAll(stdin: Readable, stop: AbortSignal): Promise<Buffer> {
  const onStop = (): void => void stdin.destroy(unreadable('svc run was stopped before its end'));
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  try {
    const bytes = await readUpTo(stdin, largestTask);
    if (bytes === undefined) throw unreadable('it is larger than 10 MiB', whatFits);
    return bytes;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw unreadable(systemReason(error));
  } finally {
    stop.removeEventListener('abort', onStop);
  }
}

function unreadable(reason: string, hint?: string): Diagnostic {
  return new Diagnostic(
    'E-RUN-060',
    `the task cannot be read from standard input: ${reason}`,
    hint === undefined ? {} : { hint },
  );
}
