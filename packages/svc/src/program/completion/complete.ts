/** The hidden command `svc __complete`, which the completion scripts of shells ask for sessions, tasks, codes and artifacts. */

import { Command } from 'commander';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, joined } from '@svc/terminal/screen/shown.ts';
import { candidatesOf } from './candidates.ts';

/** Offers only names without characters that a shell treats specially. */
const harmless = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,199}$/;

/** One candidate a line, a tab before what there is to say of it. Looks at names of folders and a few short files, and fails without a word. */
export function completeCommand(context: CommandContext): Command {
  return new Command('__complete')
    .description('Answer the completion script of a shell.')
    .argument('<kind>')
    .argument('[typed]', 'how the word at the cursor begins')
    .argument('[session]', 'the session whose tasks to list')
    .action(async (kind: string, typed: string | undefined, session: string | undefined) => {
      const found = await candidatesOf(kind, { context, typed: typed ?? '', session: session ?? '' });
      const lines = found
        .filter(({ value }) => harmless.test(value))
        .map(({ value, about }) => (about === '' ? exactLine`${value}\n` : exactLine`${value}\t${about}\n`));
      context.stdout.write(joined(lines));
    });
}
