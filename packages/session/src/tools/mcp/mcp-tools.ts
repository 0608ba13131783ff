/** Turns the tools of an MCP server into tools for the model. */

import { serverToolName } from '@svc/artifacts/manifest/chosen-tools.ts';
import type { ListedTool } from './listed-tools.ts';
import type { ToolServer } from './tool-server.ts';
import type { Tool } from '../tool.ts';

/** The number of the last call whose progress is shown. */
let last = 0;

interface McpToolsSettings {
  /** The artifact. */
  readonly name: string;
  /** Its description, used for each tool that has none of its own. */
  readonly description: string;
  readonly server: ToolServer;
  readonly listed: readonly ListedTool[];
  /** Names that the manifest gives, by those that the server has. */
  readonly names: ReadonlyMap<string, string>;
}

/**
 * The tools of an MCP server, named `<artifact>__<tool>`. Names of artifacts have no underscore, so two artifacts cannot make
 * the same name, whatever their servers list.
 */
export function createMcpTools({
  name: artifact,
  description,
  server,
  listed,
  names,
}: McpToolsSettings): readonly Tool[] {
  return listed.map(({ name: listedAs, description: own, inputSchema }) => {
    const name = names.get(listedAs) ?? listedAs;
    return {
      name: serverToolName(artifact, name),
      artifact,
      ...(name === listedAs ? {} : { listedAs }),
      description: own === '' ? description : own,
      kind: 'mcp',
      inputSchema,
      call: async (args, context) => {
        const { signal, digits, requestInput, onOutput } = context;
        // Below zero: the commands of a session have the numbers from zero.
        const number = (last -= 1);
        const onProgress = (line: string): void =>
          onOutput?.({ name, number, output: 'stdout' }, Buffer.from(`${line}\n`));
        const call = { tool: listedAs, args, digits, signal, ask: requestInput, onProgress };
        if (!server.asksRequests || context.requests === undefined) return await server.call(call);
        const { turns, asking } = (await import('../asking-launch.ts')).askingLaunch(context, { asksRequests: true });
        try {
          const { requests } = asking;
          return await server.call(requests === undefined ? call : { ...call, asking: { requests, turns } });
        } finally {
          await turns.over();
        }
      },
      warm: () => server.prepare(),
    };
  });
}
