import type { Command } from 'commander';

import type { CommandContext } from './command-context.ts';

export interface CommandEntry {
  readonly name: string;
  /** Makes the command; its implementation is loaded only then. */
  readonly load: (context: CommandContext) => Promise<Command>;
}

/** Every command of `svc`, in the order that the help lists them. */
export const commands: readonly CommandEntry[] = [
  { name: 'run', load: async (context) => (await import('./run.ts')).runCommand(context) },
  { name: 'stop', load: async (context) => (await import('./stop.ts')).stopCommand(context) },
  { name: 'ps', load: async (context) => (await import('./ps.ts')).psCommand(context) },
  { name: 'watch', load: async (context) => (await import('./watch.ts')).watchCommand(context) },
  { name: 'install', load: async (context) => (await import('./install.ts')).installCommand(context) },
  { name: 'build', load: async (context) => (await import('./build.ts')).buildCommand(context) },
  { name: 'list', load: async (context) => (await import('./list.ts')).listCommand(context) },
  { name: 'explain', load: async (context) => (await import('./explain.ts')).explainCommand(context) },
];
