/** Takes the keyboard of a terminal for as long as a command reads keys, and gives it back however the command ends. */

import { closeSync, constants, openSync, readSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { ReadStream } from 'node:tty';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { Output } from '../screen/output.ts';
import { Shown } from '../screen/shown.ts';
import { isInForeground } from './foreground.ts';
import type { Key } from './key.ts';
import { KeyReader } from './key-reader.ts';

/** Hears what a terminal reports. The terminal reports nothing before `open` has returned. */
export interface TerminalListener {
  onKeys(keys: readonly Key[]): void;
  /** Removes the rows below the transcript. After it returns, the terminal is given back and the process is stopped. */
  onSuspend(): void;
  /** The terminal is taken again, and may show anything. */
  onResume(): void;
  /** The terminal is gone: no key will come. */
  onEnd?(): void;
}

interface RawTerminalOptions extends TerminalListener {
  readonly stdin: NodeJS.ReadStream;
  readonly output: Output;
}

const takeControls = '\u001B[?2004h';
const giveControls = '\u001B[?2004l\u001B[?25h';

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** Keys that were on their way when the terminal is closed arrive within this time. */
const drainMs = 10;
const standardInput = 0;
const maxDrained = 1024 * 1024;
/** How often a process that was continued in the background checks whether it is in the foreground now. */
const lookEveryMs = 500;
/** A process that was continued gets its signal within this time. */
const continuedMs = 100;

/**
 * The keyboard, read key by key. It restores the modes of the terminal before `close` resolves, when the process is stopped with Ctrl+Z, and when the
 * process ends: by itself, by an error that nobody catches, or by a signal that nobody else listens to. A process may have one at a time.
 */
export class RawTerminal {
  readonly #options: RawTerminalOptions;
  readonly #reader = new KeyReader();
  #timer: NodeJS.Timeout | undefined;
  #look: NodeJS.Timeout | undefined;
  #pushed = 0;
  #holds = false;
  /** Changes the modes and reads nothing. Node changes the modes once more when this stream is closed and, if it is open, at the end of the process. A process in the background must do neither. */
  #modes: ReadStream | null = null;
  #closing: Promise<void> | null = null;

  private constructor(options: RawTerminalOptions) {
    this.#options = options;
  }

  /** Returns null when standard input is not a terminal, or when this process is in the background: the system would stop it. */
  static open(options: RawTerminalOptions): RawTerminal | null {
    if (!options.stdin.isTTY) return null;
    const terminal = new RawTerminal(options);
    if (!terminal.#take()) return null;
    terminal.#listen();
    return terminal;
  }

  /** Gives the terminal back. Keys that were pressed and not read are dropped: they were not meant for the shell. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    if (this.#holds) await pause(drainMs);
    this.#giveBackAtEnd();
    this.#stopListening();
  }

  #listen(): void {
    const { stdin } = this.#options;
    stdin.setEncoding('utf8');
    stdin.on('data', this.#onData);
    stdin.on('end', this.#onEnd);
    stdin.on('error', this.#onEnd);
    process.on('exit', this.#giveBackAtEnd);
    process.on('SIGCONT', this.#onContinued);
    for (const signal of endingSignals) process.on(signal, this.#onEndingSignal);
  }

  #stopListening(): void {
    const { stdin } = this.#options;
    clearInterval(this.#look);
    clearTimeout(this.#timer);
    stdin.off('data', this.#onData);
    stdin.off('end', this.#onEnd);
    stdin.off('error', this.#onEnd);
    process.off('exit', this.#giveBackAtEnd);
    process.off('SIGCONT', this.#onContinued);
    process.off('SIGTSTP', this.#onStop);
    for (const signal of endingSignals) process.off(signal, this.#onEndingSignal);
  }

  /** False in the background, where setting the modes would stop the process for good: no signal is heard until it is back in the foreground. */
  #take(): boolean {
    const { stdin } = this.#options;
    // Ctrl+Z may not put it there between the look and the change.
    process.on('SIGTSTP', this.#onStop);
    if (!isInForeground()) {
      process.off('SIGTSTP', this.#onStop);
      return false;
    }
    this.#holds = true;
    this.#leaveModes();
    this.#modes = new ReadStream(standardInput).setRawMode(true);
    this.#control(takeControls);
    stdin.resume();
    return true;
  }

  #giveBack(): void {
    if (!this.#holds) return;
    this.#holds = false;
    const { stdin } = this.#options;
    stdin.pause();
    this.#control(giveControls);
    this.#leaveModes();
    process.off('SIGTSTP', this.#onStop);
  }

  /** To what they were when they were taken. */
  #leaveModes(): void {
    this.#modes?.setRawMode(false).destroy();
    this.#modes = null;
  }

  readonly #giveBackAtEnd = (): void => {
    if (!this.#holds || !isInForeground()) return;
    dropTyped();
    this.#giveBack();
  };

  #control(sequences: string): void {
    const { output } = this.#options;
    if (output.terminal?.hasControls === true) output.write(Shown.cleaned(sequences, 'exact'));
  }

  readonly #onData = (chunk: string): void => {
    if (this.#closing !== null) return;
    this.#pushed += 1;
    this.#deliver(this.#reader.push(chunk));
    this.#settleLater();
  };

  readonly #onEnd = (): void => {
    if (this.#closing === null) this.#options.onEnd?.();
  };

  #settleLater(): void {
    clearTimeout(this.#timer);
    const { isWaiting, patienceMs } = this.#reader;
    if (!isWaiting) return;
    const pushed = this.#pushed;
    this.#timer = setTimeout(() => {
      // After a pause of the whole process, what follows is there already and has only not been read.
      setImmediate(() => {
        if (this.#pushed === pushed) this.#deliver(this.#reader.settle());
      });
    }, patienceMs);
  }

  #deliver(keys: readonly Key[]): void {
    if (keys.length === 0 || this.#closing !== null) return;
    const stop = keys.findIndex((key) => key.kind === 'press' && key.name === 'z' && key.ctrl && !key.alt);
    if (stop === -1) {
      this.#options.onKeys(keys);
      return;
    }
    if (stop > 0) this.#options.onKeys(keys.slice(0, stop));
    // What came behind it at once was meant for the shell, which cannot have it any more.
    this.#suspend();
  }

  /** As Ctrl+Z, which until the modes are set comes as this signal. */
  readonly #onStop = (): void => this.#suspend();

  #suspend(): void {
    if (!this.#holds || this.#closing !== null) return;
    this.#options.onSuspend();
    this.#giveBack();
    // The whole group, as the terminal itself would: a shell waits for all of a pipe.
    process.kill(0, 'SIGTSTP');
    // Without a shell that could continue it, the kernel does not stop a process, and nothing reports that.
    this.#look = setTimeout(() => this.#resume(), continuedMs);
  }

  /** Also after a stop that nobody announced, such as `kill -STOP`: the shell has put the modes back then. */
  readonly #onContinued = (): void => {
    if (this.#holds && !isInForeground()) {
      this.#options.onSuspend();
      this.#options.stdin.pause();
      this.#holds = false;
      process.off('SIGTSTP', this.#onStop);
    }
    this.#resume();
  };

  #resume(): void {
    clearInterval(this.#look);
    if (this.#closing !== null) return;
    if (this.#take()) {
      this.#options.onResume();
      return;
    }
    this.#look = setInterval(() => {
      if (isInForeground()) this.#resume();
    }, lookEveryMs);
  }

  readonly #onEndingSignal = (signal: NodeJS.Signals): void => {
    // The caller stops the session and then closes the terminal.
    if (process.listenerCount(signal) > 1) return;
    this.#giveBackAtEnd();
    this.#stopListening();
    process.kill(process.pid, signal);
  };
}

/** Reads, without waiting, what the terminal has for this process. */
function dropTyped(): void {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const terminal = unlessRefused(() => openSync('/dev/tty', flags), null);
  if (terminal === null) return;
  const place = Buffer.alloc(4096);
  for (let dropped = 0; dropped < maxDrained;) {
    const count = unlessRefused(() => readSync(terminal, place), 0);
    if (count === 0) break;
    dropped += count;
  }
  closeSync(terminal);
}
