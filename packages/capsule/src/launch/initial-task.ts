/** Finds the first task of a session. */

import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readBeneath } from '@svc/kit/files/read-beneath.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { ContextId, SessionId } from '@svc/protocol/ids.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { decodeTraceparent } from '@svc/protocol/traceparent.ts';
import { continuedContext } from '@svc/record/sessions/session-names.ts';
import type { Sender, TaskSource } from '@svc/session/task/task.ts';

const largestTask = 10 * 1024 * 1024;

interface InitialTaskRequest {
  /** What `--task` gave; undefined without the flag. */
  readonly flag: string | undefined;
  /** Reads what the flag `-` stands for: all of standard input, which is not empty. */
  readonly readInput: () => Promise<string>;
  /** What a relative path of the flag is relative to. */
  readonly cwd: string;
  readonly manifestDirectory: string;
  readonly taskAcceptance: 'none' | 'single' | 'queue';
  /** Whether a parent capsule starts it, which sends its task as the first message. */
  readonly isDelegated: boolean;
}

export interface InitialTask {
  readonly text: string;
  readonly warnings: readonly Diagnostic[];
}

/**
 * The first task: `--task` as the contents of an existing file or else verbatim, without it `task.md` beside the manifest
 * (D1 "Command line", docs/cli.md "svc run"). `-` is standard input, unless a file has that name (docs/adr/manifest-and-grants.md "The task that is a
 * hyphen"). Without a task this is null when messages may come, and `E-RUN-024` when they may not.
 */
export async function findInitialTask(request: InitialTaskRequest): Promise<InitialTask | null> {
  const { flag, manifestDirectory, taskAcceptance } = request;
  if (flag !== undefined) return await taskOfFlag(flag, request);
  if (request.isDelegated) return awaitedTask(taskAcceptance);
  const path = join(manifestDirectory, 'task.md');
  const beside = readBeneath(manifestDirectory, 'task.md', largestTask);
  if (beside.kind === 'unreadable') throw unusable(path, beside);
  if (beside.kind === 'bytes') return { text: nonEmpty(taskText(path, beside.bytes), path), warnings: [] };
  if (taskAcceptance !== 'none') return null;
  throw new Diagnostic('E-RUN-024', 'there is no task and lifecycle.task_acceptance is none', {
    hint: `give one with --task, write ${path}, or set lifecycle.task_acceptance to single or queue`,
  });
}

interface FirstTaskOf {
  readonly env: Environment;
  readonly sessionId: SessionId;
  /** Whether it goes on with a session before. */
  readonly isContinued: boolean;
}

/** The first task as its session takes it: in the conversation of the session before, where it goes on with one. */
export function sourceOfFirst({ text }: InitialTask, { env, sessionId, isContinued }: FirstTaskOf): TaskSource {
  return {
    text,
    origin: 'user',
    trust: 'trusted',
    sender: initialSender(env),
    ...(isContinued ? { contextId: continuedContext(sessionId) as ContextId } : {}),
  };
}

/** Returns null unless `TRACEPARENT` names the span that the capsule's start belongs to. */
function initialSender(env: Environment): Sender | null {
  const traceparent = env['TRACEPARENT'] ?? '';
  return decodeTraceparent(traceparent) === null ? null : { principal: 'operator', tags: { traceparent } };
}

/** The parent gives a delegated capsule its whole input: a `task.md` of its own does not count (D2 "`delegate-task` tool"). */
function awaitedTask(taskAcceptance: InitialTaskRequest['taskAcceptance']): null {
  if (taskAcceptance !== 'none') return null;
  throw new Diagnostic(
    'E-RUN-024',
    'a capsule that is delegated to takes messages, and lifecycle.task_acceptance is none',
    {
      hint: 'set lifecycle.task_acceptance to single or queue',
    },
  );
}

async function taskOfFlag(flag: string, { cwd, readInput }: InitialTaskRequest): Promise<InitialTask> {
  const file = resolve(cwd, flag);
  if (isFile(file)) return { text: nonEmpty(readTask(file), file), warnings: [] };
  if (flag === '-') return { text: await readInput(), warnings: [] };
  return { text: nonEmpty(flag, '--task'), warnings: looksLikePath(flag) ? [takenAsText(flag)] : [] };
}

/** One word with a slash or a text file's ending: more likely a path that does not exist than a task. */
export function looksLikePath(flag: string): boolean {
  return /^\S+$/.test(flag) && (flag.includes('/') || /\.(md|txt)$/i.test(flag));
}

function takenAsText(flag: string): Diagnostic {
  return new Diagnostic('W-RUN-001', `there is no file ${flag}: the model is given these words as its task`, {
    hint: 'check the path that --task names',
  });
}

function nonEmpty(text: string, where: string): string {
  if (text.trim() !== '') return text;
  throw new Diagnostic('E-RUN-024', `the task is empty (${where})`, { hint: 'say what the capsule is to do' });
}

function isFile(path: string): boolean {
  // Text given as a task may hold what no path can.
  if (path.includes('\0')) return false;
  // Whatever keeps the system from finding a file there, a name that is too long included: the words are the task.
  return unlessRefused(() => statSync(path).isFile(), false);
}

function readTask(path: string): string {
  const bytes = readBytes(path);
  if (bytes === undefined) throw unusable(path, { reason: 'it is larger than 10 MiB' });
  return taskText(path, bytes);
}

/** `task.md` becomes a copy of the file: what text cannot carry over unchanged is refused. */
function taskText(path: string, bytes: Buffer): string {
  const text = decodeStrictUtf8(bytes);
  if (text === null) throw unusable(path, { reason: 'it is not UTF-8 text' });
  return text;
}

function readBytes(path: string): Buffer | undefined {
  try {
    return readFileUpTo(path, largestTask);
  } catch (error) {
    throw ioFault(error, `the task ${path} cannot be read`);
  }
}

const usualHint = 'give the model a text, and put anything larger into the workdir';

function unusable(
  path: string,
  { reason, hint = usualHint, cause }: { readonly reason: string; readonly hint?: string; readonly cause?: unknown },
): Diagnostic {
  return new Diagnostic('E-IO-001', `the task ${path} cannot be read: ${reason}`, { hint, cause });
}
