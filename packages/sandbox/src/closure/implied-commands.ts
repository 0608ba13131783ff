import type { Profile } from './profile.ts';
import { profiles } from './profiles.ts';

/**
 * The other programs that a process gets with a command, because it is made of them: the shell of git, the assembler of gcc. By name,
 * without those that scripts of their own name start.
 */
export function impliedCommands(command: string): readonly string[] {
  const needed = profiles.filter(({ programs }) => programs?.test(command) === true).flatMap(commandsOf);
  return [...new Set(needed)].filter((name) => name !== command);
}

function commandsOf({ needs = [], ofScript }: Profile): readonly string[] {
  return ofScript === true ? [] : needs.filter((name) => !name.includes('/'));
}
