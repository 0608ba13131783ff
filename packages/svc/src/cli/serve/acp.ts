/** The command `svc serve acp`: an editor drives capsules. */

import { Command, Option } from 'commander';

import { containmentClasses } from '@svc/protocol/containment-class.ts';
import type { CommandContext } from '../command-context.ts';
import { usualOptions } from '../run-options.ts';
import type { ServedOptions } from './run-served.ts';

interface ServeAcpOptions extends ServedOptions {
  readonly session?: string;
}

/** `svc serve acp` (docs/cli.md "svc serve acp"). */
export function acpCommand(context: CommandContext): Command {
  return (
    new Command('acp')
      .description('Serve the Agent Client Protocol to an editor: each of its sessions is a capsule.')
      .option('--manifest <path>', 'the manifest', usualOptions.manifest)
      .option('--capsule <name>', 'a published capsule from the store instead of a manifest file')
      .option('--capsule-version <version>', 'the exact version of that capsule')
      .option('--no-env-file', 'do not read the .env file of the workspace')
      .option('--offline', 'never fetch an artifact')
      .addOption(new Option('--containment <class>', 'raise the containment floor').choices(containmentClasses))
      // How this command starts the process of a session: nobody types them.
      .addOption(new Option('--session <id>', 'the session of the editor').hideHelp())
      .addOption(new Option('--workdir <dir>', 'its folder').hideHelp())
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
