/** A program that reads the keyboard and prints each key as JSON, for tests of what becomes of the terminal. */

import { existsSync } from 'node:fs';
import { ReadStream } from 'node:tty';

import { RawTerminal } from '@svc/terminal/keyboard/raw-terminal.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { exactLine } from '@svc/terminal/screen/shown.ts';
import { terminalOf } from '@svc/terminal/screen/terminal-kind.ts';

const output = new Output(() => process.stdout, terminalOf(process.env), process.env);
const say = (text: string): void => void output.write(exactLine`${text}\n`);

/** What some keys do; most of them end the program. */
const acts: Readonly<Record<string, () => void>> = {
  q: () => void terminal?.close().then(() => say('closed')),
  t: () => {
    throw new Error('thrown');
  },
  p: () => say(`pid ${process.pid}`),
  e: () => process.exit(3),
  w: () => {
    say('working');
    // Reads no key meanwhile, for a minute at the most.
    const idle = new Int32Array(new SharedArrayBuffer(4));
    for (let waits = 0; waits < 6000 && !existsSync(process.env['LEAVE'] ?? ''); waits += 1)
      Atomics.wait(idle, 0, 0, 10);
    process.exit(4);
  },
};

if (process.argv.includes('--stopped-meanwhile')) {
  const { prototype } = ReadStream;
  const original = Object.getOwnPropertyDescriptor(prototype, 'setRawMode') ?? {};
  prototype.setRawMode = function stopped(mode) {
    Object.defineProperty(prototype, 'setRawMode', original);
    // What a terminal that has not changed its modes yet makes of Ctrl+Z.
    process.kill(0, 'SIGTSTP');
    return this.setRawMode(mode);
  };
}

const terminal = RawTerminal.open({
  stdin: process.stdin,
  output,
  onKeys(keys) {
    for (const key of keys) {
      say(JSON.stringify(key));
      if (key.kind === 'text') acts[key.text]?.();
    }
  },
  onSuspend: () => say('suspending'),
  onResume: () => say('resumed'),
  onEnd: () => void terminal?.close(),
});
if (process.argv.includes('--busy')) setTimeout(() => say('has worked'), 300);
say(terminal === null ? 'no keyboard' : 'ready');
