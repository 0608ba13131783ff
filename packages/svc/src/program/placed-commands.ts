/** Lists the commands of a program, each with the words that lead to it. */

import type { Command } from 'commander';

/** A command with the words that lead to it: `trace show`; empty for `svc` itself. */
export interface PlacedCommand {
  readonly path: string;
  readonly command: Command;
}

/** A command and all below it, in the order in which the help lists them. */
export function commandsBelow(command: Command, path = ''): readonly PlacedCommand[] {
  const below = command.commands.flatMap((each) =>
    commandsBelow(each, path === '' ? each.name() : `${path} ${each.name()}`),
  );
  return [{ path, command }, ...below];
}
