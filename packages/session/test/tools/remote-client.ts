/** Calls tools of MCP servers on the web for tests, as a session does. */

import { onTestFinished } from 'vitest';

import { LogBudget } from '@svc/kit/log-budget.ts';
import { RemoteMcpServer, remoteTools } from '../../../../test/support/remote-server.ts';
import type { ListedTools } from '../../src/tools/mcp/listed-tools.ts';
import { pinnedTools } from '../../src/tools/mcp/pinned-tools.ts';
import { remoteServer } from '../../src/tools/mcp/remote-server.ts';
import { type ServerPlace, ToolServer } from '../../src/tools/mcp/tool-server.ts';
import type { ToolOutcome } from '../../src/tools/tool.ts';

const offered: ListedTools = { tools: remoteTools, leftOut: [] };

interface Client {
  readonly call: (tool: string, args?: Readonly<Record<string, unknown>>, signal?: AbortSignal) => Promise<ToolOutcome>;
  readonly server: ToolServer;
  readonly changes: (string | null)[];
}

/** A client of the server, which is closed when the test has finished. */
export function clientOf(
  remote: RemoteMcpServer,
  {
    headers = {},
    deadlineMs = 20_000,
    url = remote.url,
    place = remoteServer({ url: new URL(url), allow: [], proxyFor: null, headers }),
  }: { headers?: Record<string, string>; deadlineMs?: number; url?: string; place?: ServerPlace } = {},
): Client {
  const changes: (string | null)[] = [];
  const server = new ToolServer(
    {
      name: 'notes',
      place,
      pinned: pinnedTools(remoteTools),
      deadlineMs,
      sessionDirectory: '/nowhere',
      logs: new LogBudget(),
      cutBefore: (text) => text,
      version: '1',
      clock: { monotonicMs: () => 0 },
      onChange: (_live, change) => void changes.push(change),
    },
    offered,
  );
  onTestFinished(async () => await server.close());
  return {
    server,
    changes,
    call: async (tool, args = {}, signal = new AbortController().signal) => await server.call({ tool, args, signal }),
  };
}

/** A server that is closed when the test has finished. */
export async function started(isModern: boolean): Promise<RemoteMcpServer> {
  const remote = await RemoteMcpServer.start();
  remote.ways.isModern = isModern;
  onTestFinished(() => remote.close());
  return remote;
}
