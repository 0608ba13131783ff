/** The command `svc serve mcp`: a capsule as a server of the Model Context Protocol, started for that or running already. */

import { Command, Option } from 'commander';

import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { sendTokenHelp } from '../approach-capsule.ts';
import type { CommandContext } from '../command-context.ts';
import { usualOptions } from '../run-options.ts';
import { runningSessionHelp } from '../tasks/open-capsule.ts';
import type { ServedOptions } from './run-served.ts';

interface ServeMcpOptions extends ServedOptions {
  readonly sendToken?: boolean;
}

/** `svc serve mcp` (docs/cli.md "svc serve"). */
export function mcpCommand(context: CommandContext): Command {
  return new Command('mcp')
    .description('Serve the Model Context Protocol, for as long as standard input is open.')
    .argument('[session]', `${runningSessionHelp}; a capsule is started when absent`)
    .option('--manifest <path>', 'the manifest of the capsule that is started', usualOptions.manifest)
    .option('--workdir <dir>', 'the directory the agent reads and writes, instead of a fresh one')
    .option('--capsule <name>', 'a published capsule from the store instead of a manifest file')
    .option('--capsule-version <version>', 'the exact version of that capsule')
    .option('--no-env-file', 'do not read the .env file of the workspace')
    .option('--offline', 'never fetch an artifact')
    .addOption(new Option('--containment <class>', 'raise the containment floor').choices(containmentClasses))
    .option('--send-token', sendTokenHelp)
    .action(async (session: string | undefined, options: ServeMcpOptions, command: Command) => {
      if ((options.capsule === undefined) !== (options.capsuleVersion === undefined)) {
        command.error('error: --capsule and --capsule-version go together');
      }
      if (session === undefined) {
        const { serveMcp } = await import('./serve-mcp.ts');
        process.exitCode = await serveMcp(options, context);
        return;
      }
      const ofLaunch = command.options.find(
        (option) =>
          option.attributeName() !== 'sendToken' && command.getOptionValueSource(option.attributeName()) === 'cli',
      );
      if (ofLaunch !== undefined) {
        command.error(`error: ${ofLaunch.long} is for a capsule that is started, not for a session`);
      }
      const { joinMcp } = await import('./join-mcp.ts');
      await joinMcp(session, options, context);
    });
}
