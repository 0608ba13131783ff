/** The command `svc serve`: a capsule for a program that speaks to its children over their standard streams. */

import { Command, Option } from 'commander';

import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { sendTokenHelp } from '@svc/record/running/approach-capsule.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { projectOption, writeGitOption } from '../run/run-command.ts';
import { usualOptions } from '../run/run-options.ts';
import { runningSessionHelp } from '../sessions/tasks/open-capsule.ts';
import type { ServedOptions } from './run-served.ts';

/** `svc serve`: one command below it for each protocol (docs/cli.md "svc serve"). */
export function serveCommand(context: CommandContext): Command {
  return new Command('serve')
    .description('Serve a capsule on standard input and output, to the program that starts this.')
    .addCommand(mcpCommand(context))
    .addCommand(acpCommand(context));
}

interface ServeAcpOptions extends ServedOptions {
  readonly session?: string;
}

/** `svc serve acp` (docs/cli.md "svc serve acp"). */
function acpCommand(context: CommandContext): Command {
  return (
    new Command('acp')
      .description('Serve the Agent Client Protocol to an editor: each of its sessions is a capsule.')
      .option('--manifest <path>', 'the manifest', usualOptions.manifest)
      .addOption(writeGitOption())
      .option('--capsule <name>', 'a published capsule from the store instead of a manifest file')
      .option('--capsule-version <version>', 'the exact version of that capsule')
      .option('--no-env-file', 'do not read the .env file of the workspace')
      .option('--offline', 'never fetch an artifact')
      .addOption(new Option('--containment <class>', 'raise the containment floor').choices(containmentClasses))
      // How this command starts the process of a session: nobody types them.
      .addOption(new Option('--session <id>', 'the session of the editor').hideHelp())
      .addOption(new Option('--folder <dir>', 'its folder').hideHelp())
      .action(async ({ session, ...options }: ServeAcpOptions, command: Command) => {
        if ((options.capsule === undefined) !== (options.capsuleVersion === undefined)) {
          command.error('error: --capsule and --capsule-version go together');
        }
        if (session === undefined) {
          const { serveAcp } = await import('./acp/serve-acp.ts');
          await serveAcp(options, context);
          return;
        }
        const { isAcpSessionId } = await import('./acp/kept-session.ts');
        if (!isAcpSessionId(session)) command.error('error: --session is 32 hex digits');
        const { runSessionProcess } = await import('./acp/session-process.ts');
        process.exitCode = await runSessionProcess(session, options, context);
      })
  );
}

interface ServeMcpOptions extends ServedOptions {
  readonly sendToken?: boolean;
}

/** `svc serve mcp` (docs/cli.md "svc serve"). */
function mcpCommand(context: CommandContext): Command {
  return new Command('mcp')
    .description('Serve the Model Context Protocol, for as long as standard input is open.')
    .argument('[session]', `${runningSessionHelp}; a capsule is started when absent`)
    .option('--manifest <path>', 'the manifest of the capsule that is started', usualOptions.manifest)
    .option('--workdir <dir>', 'the directory the agent reads and writes, instead of a fresh one')
    .addOption(projectOption())
    .addOption(writeGitOption())
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
