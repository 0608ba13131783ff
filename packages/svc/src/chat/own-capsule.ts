/** Starts a capsule for a chat, as a process that can go on without it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { decodeRunLine } from '@svc/protocol/run-line.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { sayLines, type Shown } from '@svc/terminal/screen/shown.ts';

/** Installing and compiling may come before the first line. */
const startMs = 180_000;
const maxLine = 64 * 1024;
/** The chat repeats what the capsule says; of more than this at once, only the beginning. */
const maxWords = 64 * 1024;
/** What `svc run` takes at most after a signal (docs/cli.md "svc run"). */
const endMs = 20_000;

/** A capsule that this chat started. */
export interface OwnCapsule {
  readonly sessionId: string;
  /** Asks it to end, and resolves once it has. `E-RUN-027` when it does not. */
  stop(): Promise<void>;
  /** Says that somebody else hears the signals to the chat now. Until then each that ends the chat ends the capsule too. */
  attend(): void;
  /** Leaves it running: nothing of this process is held open for it. */
  leave(): void;
}

/**
 * Starts a capsule for a chat with these arguments of `svc` and waits until it listens. The callback gets what it writes, now and later: so it
 * has said itself why it did not start, and `exit` is its exit code then. Throws `E-RUN-120` when it ends otherwise.
 */
export async function startCapsule(
  args: readonly string[],
  { cwd, env }: CommandContext,
  tell: (rows: Shown) => void,
): Promise<OwnCapsule | { readonly exit: number }> {
  const [, script = ''] = process.argv;
  const command = [...process.execArgv, script, ...args, '--json', '--for-chat'];
  // Made before there is a process: a signal meanwhile would end the chat alone.
  const together = new EndsTogether();
  // A group of its own: what the terminal signals is for the chat.
  const child = spawn(process.execPath, command, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  together.child = child;
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tell(sayLines(text.slice(0, maxWords)));
  });
  const ended = once(child, 'exit').then(([code, signal]) => (signal === null ? Number(code) : 1));
  const line = await firstLine(child, ended).finally(() => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) together.part();
  });
  if (line.kind === 'ended') return { exit: line.code };
  const sessionId = line.kind === 'line' ? (decodeRunLine(line.text)?.sessionId ?? null) : null;
  if (sessionId === null) {
    together.part();
    child.kill('SIGTERM');
    const why =
      line.kind === 'late'
        ? `it was not up within ${startMs / 1000} s`
        : 'its first line is not the one that svc run writes';
    throw new Diagnostic('E-RUN-120', `the capsule for the chat did not start: ${why}`, {
      hint: 'start it with svc run, and join it with svc chat <session>',
    });
  }
  return {
    sessionId,
    stop: async () => await stop(child, ended),
    attend: () => together.attend(),
    leave: () => {
      together.part();
      leave(child);
    },
  };
}

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** Has a process that is in a group of its own end with this one, as nobody would know of it. */
class EndsTogether {
  child: ChildProcess | null = null;

  constructor() {
    for (const signal of endings) process.on(signal, this.#onSignal);
    process.on('exit', this.#onExit);
  }

  /** Signals no longer end the child; the end of this process does. */
  attend(): void {
    for (const signal of endings) process.off(signal, this.#onSignal);
  }

  part(): void {
    this.attend();
    process.off('exit', this.#onExit);
  }

  readonly #onExit = (): void => void this.child?.kill('SIGTERM');

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    this.part();
    this.#onExit();
    process.kill(process.pid, signal);
  };
}

type FirstLine =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'ended'; readonly code: number }
  | { readonly kind: 'late' };

async function firstLine(child: ChildProcess, ended: Promise<number>): Promise<FirstLine> {
  const late = new AbortController();
  const line = new Promise<FirstLine>((resolve, reject) => {
    let text = '';
    child.on('error', (error) => {
      const why = isSystemError(error) ? systemReason(error) : error.message;
      reject(new Diagnostic('E-RUN-120', `the capsule for the chat did not start: ${why}`));
    });
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      text += text.length > maxLine ? '' : piece;
      const end = text.indexOf('\n');
      if (end !== -1 || text.length > maxLine) resolve({ kind: 'line', text: text.slice(0, end) });
    });
  });
  try {
    return await Promise.race([
      line,
      ended.then((code): FirstLine => ({ kind: 'ended', code })),
      delay(startMs, { kind: 'late' } as const, { signal: late.signal }),
    ]);
  } finally {
    late.abort();
  }
}

async function stop(child: ChildProcess, ended: Promise<number>): Promise<void> {
  child.kill('SIGTERM');
  const late = new AbortController();
  try {
    const isEnded = await Promise.race([ended.then(() => true), delay(endMs, false, { signal: late.signal })]);
    if (isEnded) return;
  } finally {
    late.abort();
  }
  throw new Diagnostic('E-RUN-027', `process ${child.pid} of the capsule did not end within 20 s`, {
    hint: `end it with kill -9 ${child.pid}; its trace stays readable`,
  });
}

function leave(child: ChildProcess): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.unref();
}
