import type { Command } from 'commander';

import { buildCommand } from './build.ts';
import type { CommandContext } from './command-context.ts';
import { doctorCommand } from './doctor.ts';
import { explainCommand } from './explain.ts';
import { installCommand } from './install.ts';
import { listCommand } from './list.ts';
import { newCommand } from './new.ts';
import { psCommand } from './ps.ts';
import { publishCommand } from './publish.ts';
import { runCommand } from './run.ts';
import { searchCommand } from './search.ts';
import { stopCommand } from './stop.ts';
import { watchCommand } from './watch.ts';

export interface CommandEntry {
  readonly name: string;
  readonly make: (context: CommandContext) => Command;
}

/**
 * Every command of `svc`, in the order that the help lists them. They are imported, not loaded on demand: an import that may come
 * late keeps the bundler from joining the modules it leads to, which costs each start more than the modules themselves.
 */
export const commands: readonly CommandEntry[] = [
  { name: 'run', make: runCommand },
  { name: 'stop', make: stopCommand },
  { name: 'ps', make: psCommand },
  { name: 'watch', make: watchCommand },
  { name: 'install', make: installCommand },
  { name: 'search', make: searchCommand },
  { name: 'new', make: newCommand },
  { name: 'build', make: buildCommand },
  { name: 'publish', make: publishCommand },
  { name: 'list', make: listCommand },
  { name: 'doctor', make: doctorCommand },
  { name: 'explain', make: explainCommand },
];
