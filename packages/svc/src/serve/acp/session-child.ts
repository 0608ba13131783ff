/** Starts the process of one session of an editor, and carries what the two say to each other. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { sayLines } from '@svc/terminal/screen/shown.ts';
import type { ServedOptions } from '../run-served.ts';
import { maxNews, type SessionNews, type SessionOrder } from './channel.ts';
import type { EditorOutput } from './editor-output.ts';
import { failed } from './fault.ts';
import { Lines } from '../lines.ts';

/** Installing and compiling may come before a session is ready. */
const startMs = 180_000;
/** What a session takes at most to end (docs/cli.md "svc serve acp"). */
const endMs = 20_000;
/** Characters from the end of its standard error that are repeated where it does not start, or ends by itself. */
const keptWords = 2000;
const maxWords = 64 * 1024;

interface SessionListener {
  readonly onNews: (news: SessionNews) => void;
  readonly onEnd: (why: string) => void;
  /** Where what is heard goes. */
  readonly output: Pick<EditorOutput, 'follow' | 'release'>;
}

/** It ends with this process: its standard input ends then. */
export class SessionChild {
  readonly #child: ChildProcess;
  /** The orders to it. */
  readonly #output: Writable;
  readonly #ended: Promise<void>;
  readonly #editor: Pick<EditorOutput, 'release'>;
  #words = '';
  /** Why it was broken off; what it says from then on is read no more. */
  #fault: string | null = null;

  private constructor(child: ChildProcess, output: Pick<EditorOutput, 'release'>, context: CommandContext) {
    this.#editor = output;
    if (child.stdin === null) throw new Error('its standard input is a pipe');
    this.#child = child;
    this.#output = child.stdin;
    this.#ended = once(child, 'close').then(() => {});
    // What is written to a process that has ended is lost, and so is the process.
    child.stdin.on('error', () => {});
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#words = (this.#words + text).slice(-keptWords);
      context.stderr.write(sayLines(text.slice(0, maxWords)));
    });
  }

  /**
   * Starts the capsule for `folder`, and waits until it can be given tasks. `onNews` hears what it says afterwards, as long as `output` has room, `onEnd` that it has
   * ended by itself. Throws the fault that the editor is answered with.
   */
  static async start(
    { id, folder }: { readonly id: string; readonly folder: string },
    options: ServedOptions,
    context: CommandContext,
    hears: SessionListener,
  ): Promise<SessionChild> {
    const [, script = ''] = process.argv;
    const args = [...process.execArgv, script, 'serve', 'acp', ...argumentsOf(options)];
    const child = spawn(process.execPath, [...args, '--session', id, '--folder', folder], {
      cwd: context.cwd,
      env: context.env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const started = new SessionChild(child, hears.output, context);
    await started.#ready(hears.onNews);
    hears.output.follow(child.stdout);
    void started.#ended.then(() => hears.onEnd(started.#lastWords));
    return started;
  }

  send(order: SessionOrder): void {
    this.#output.write(`${JSON.stringify(order)}\n`);
  }

  /** Ends it, its tasks with it. Resolves once it has ended. */
  async stop(): Promise<void> {
    this.#output.end();
    // It ends once what it has said has been read.
    if (this.#child.stdout !== null) this.#editor.release(this.#child.stdout);
    this.#child.kill('SIGTERM');
    const late = new AbortController();
    const isEnded = await Promise.race([
      this.#ended.then(() => true),
      delay(endMs, false, { signal: late.signal }).catch(() => true),
    ]);
    late.abort();
    if (isEnded) return;
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #breakOff(why: string): void {
    this.#fault = why;
    void this.stop();
  }

  get #lastWords(): string {
    return this.#fault ?? this.#words.trim();
  }

  async #ready(onNews: (news: SessionNews) => void): Promise<void> {
    const lines = new Lines(maxNews);
    const late = new AbortController();
    const first = new Promise<string | null>((resolve) => {
      this.#child.stdout?.on('data', (bytes: Buffer) => {
        if (this.#fault !== null) return;
        for (const line of lines.read(bytes)) {
          // Other sessions of the editor go on, whatever a component had this one say.
          if (line === 'too-long') return this.#breakOff(`it said more than ${maxNews} bytes at once`);
          const news = JSON.parse(line.toString()) as SessionNews;
          if (news.kind === 'ready') resolve(null);
          else onNews(news);
        }
      });
      this.#child.once('error', (error) => resolve(isSystemError(error) ? systemReason(error) : error.message));
      void this.#ended.then(() => resolve(this.#lastWords));
      void delay(startMs, undefined, { signal: late.signal }).then(
        () => resolve(`it was not up within ${startMs / 1000} s`),
        () => {},
      );
    });
    const why = await first;
    late.abort();
    if (why === null) return;
    await this.stop();
    throw failed(`the capsule did not start: ${why}`);
  }
}

function argumentsOf(options: ServedOptions): string[] {
  const { manifest, writeGit, capsule, capsuleVersion, containment, envFile, offline } = options;
  return [
    '--manifest',
    manifest,
    ...(writeGit === true ? ['--write-git'] : []),
    ...(capsule === undefined ? [] : ['--capsule', capsule]),
    ...(capsuleVersion === undefined ? [] : ['--capsule-version', capsuleVersion]),
    ...(containment === undefined ? [] : ['--containment', containment]),
    ...(envFile ? [] : ['--no-env-file']),
    ...(offline === true ? ['--offline'] : []),
  ];
}
