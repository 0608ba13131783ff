/** Speaks the Agent Client Protocol with the editor that has started this process. */

import { once } from 'node:events';

import { raise } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { interruptible } from '../../command/stop-signals.ts';
import type { ServedOptions } from '../run-served.ts';
import { AcpAgent } from './acp-agent.ts';
import { EditorOutput } from './editor-output.ts';
import { EditorPeer } from './editor-peer.ts';

/** Serves until standard input ends or a signal comes; every session has ended then. Standard output carries the protocol alone. */
export async function serveAcp(options: ServedOptions, context: CommandContext): Promise<void> {
  await interruptible(context, async (signal) => {
    const output = new EditorOutput(context.stdout);
    const agent = new AcpAgent(options, context, output);
    const peer: EditorPeer = new EditorPeer((message) => output.write(message), {
      onRequest: async (method, params) => await agent.request(method, params, peer),
      onNotification: (method, params) => agent.notification(method, params),
      onBug: raise,
    });
    process.stdin.on('data', (bytes: Buffer) => peer.read(bytes));
    await Promise.race([once(process.stdin, 'end'), once(process.stdin, 'close'), aborted(signal)]);
    await agent.end();
    process.stdin.destroy();
  });
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
