/** Asks a person at the terminal for a yes. */

import { createInterface } from 'node:readline';

import type { CommandContext } from './command-context.ts';
import type { Shown } from './shown.ts';

/** Whether somebody reads what standard error says, and can type an answer. */
export function canAsk({ stderr }: CommandContext): boolean {
  return process.stdin.isTTY && stderr.isTerminal;
}

/** Shows the question and reads one line. Anything but `y` and `yes` is a no. */
export async function askYes({ stderr }: CommandContext, question: Shown): Promise<boolean> {
  stderr.write(question);
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    for await (const answer of lines) return /^\s*y(?:es)?\s*$/i.test(answer);
    return false;
  } finally {
    lines.close();
  }
}
