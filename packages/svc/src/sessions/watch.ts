/** The command `svc watch`: follows a running capsule. */

import { Command } from 'commander';

import { approachCapsule, sendTokenHelp, tokenChoice } from '@svc/record/running/approach-capsule.ts';
import { connectionLost } from '@svc/record/running/capsule-faults.ts';
import { locateRunning } from '@svc/record/running/locate-running.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';

/** The time for the card of a session to arrive. */
const cardMs = 10_000;

/** `svc watch`: the client of `stream/watch` (D1 "`svc watch` behaviour"). It connects once and never again. */
export function watchCommand(context: CommandContext): Command {
  return new Command('watch')
    .description('Follow a running capsule.')
    .argument('[session]', 'session id, at least 4 of its last characters, or host:port; the newest when absent')
    .option('--json', 'write one JSON object per frame')
    .option('--send-token', sendTokenHelp)
    .action(
      async (
        wanted: string | undefined,
        { json = false, ...options }: { readonly json?: boolean; readonly sendToken?: boolean },
      ) => {
        const located = await locateRunning(context, wanted);
        const choice = tokenChoice(context, { ...options, method: 'stream/watch', timeoutMs: cardMs });
        const capsule = await approachCapsule(located, choice);
        const { address } = capsule;
        // Its shapes of frames are no part of the start of any other command.
        const { followStream, openWatch } = await import('../shown/follow-stream.ts');
        const stream = await openWatch(capsule);
        const end = await followStream(stream, { json, stdout: context.stdout, stderr: context.stderr });
        if (end.kind === 'lost') throw connectionLost(address, end.lastId);
      },
    );
}
