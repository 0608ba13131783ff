/** The command `svc serve mcp`: starts a capsule as a server of the Model Context Protocol. */

import { Command, Option } from 'commander';

import { containmentClasses, type ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { CommandContext } from '../command-context.ts';
import { usualOptions } from '../run-options.ts';

export interface ServeMcpOptions {
  readonly manifest: string;
  readonly capsule?: string;
  readonly capsuleVersion?: string;
  readonly workdir?: string;
  readonly containment?: ContainmentClass;
  readonly envFile: boolean;
  readonly offline?: boolean;
}

/** `svc serve mcp` (docs/cli.md "svc serve"). */
export function mcpCommand(context: CommandContext): Command {
  return new Command('mcp')
    .description('Start a capsule as a server of the Model Context Protocol, for as long as standard input is open.')
    .option('--manifest <path>', 'the manifest', usualOptions.manifest)
    .option('--workdir <dir>', 'the directory the agent reads and writes, instead of a fresh one')
    .option('--capsule <name>', 'a published capsule from the store instead of a manifest file')
    .option('--capsule-version <version>', 'the exact version of that capsule')
    .option('--no-env-file', 'do not read the .env file of the workspace')
    .option('--offline', 'never fetch an artifact')
    .addOption(new Option('--containment <class>', 'raise the containment floor').choices(containmentClasses))
    .action(async (options: ServeMcpOptions, command: Command) => {
      if ((options.capsule === undefined) !== (options.capsuleVersion === undefined)) {
        command.error('error: --capsule and --capsule-version go together');
      }
      const { serveMcp } = await import('./serve-mcp.ts');
      process.exitCode = await serveMcp(options, context);
    });
}
