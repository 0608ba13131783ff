/** Starts the MCP server of an artifact as a contained process. */

import { quoted } from '@svc/kit/diagnostics/printable.ts';
import type { HiddenIn, Launcher } from '@svc/sandbox/launcher.ts';
import { LaunchedTransport } from './launched-transport.ts';
import { RequestsOfCalls } from './requests-of-calls.ts';
import { ServerConnection } from './server-connection.ts';
import type { ServerPlace } from './tool-server.ts';

export interface LaunchedServer {
  readonly launcher: Launcher;
  /** The command, in the form of a `LaunchRequest`. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Returns what its last words name that is hidden from it; null when they name nothing hidden. */
  readonly hiddenIn?: HiddenIn;
  /** Whether the launcher asks about requests. */
  readonly asksRequests?: boolean;
  /** How long a server may take to end by itself, and again after it was asked to; 2,000 when absent. */
  readonly endGraceMs?: number;
}

/** A server that is a process of this machine, one for each connection. */
export function launchedServer(server: LaunchedServer): ServerPlace {
  const { launcher, command, args, env, hiddenIn = () => null, endGraceMs = 2000 } = server;
  const ofCalls = server.asksRequests === true ? new RequestsOfCalls() : null;
  const asking = ofCalls === null ? {} : { requests: ofCalls };
  return {
    ...(ofCalls === null ? {} : { ofCalls }),
    prepare: () => launcher.prepare?.({ command, env }),
    connect: async ({ version, onListChanged }) => {
      const outcome = await launcher.launch({ command, args, env, stdin: 'pipe', ...asking });
      if (outcome.kind === 'refused') return { kind: 'refused', reason: `${quoted(command)}: ${outcome.reason}` };
      const { process: launched, problems = [] } = outcome;
      const connection = await ServerConnection.open({
        version,
        transportOf: (sdk) => new LaunchedTransport({ launched, problems, hiddenIn, endGraceMs, onListChanged, sdk }),
      });
      return { kind: 'connected', connection };
    },
  };
}
