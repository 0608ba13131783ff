/** Turns the tools of an MCP server into tools for the model. */

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
}

/**
 * The tools of an MCP server, named `<artifact>__<tool>`. Names of artifacts have no underscore, so two artifacts cannot make
 * the same name, whatever their servers list.
 */
export function createMcpTools({ name: artifact, description, server, listed }: McpToolsSettings): readonly Tool[] {
  return listed.map((tool) => ({
    name: `${artifact}__${tool.name}`,
    artifact,
    description: tool.description === '' ? description : tool.description,
    kind: 'mcp',
    inputSchema: tool.inputSchema,
    call: (args, { signal, digits, requestInput, onOutput }) => {
      const name = tool.name;
      // Below zero: the commands of a session have the numbers from zero.
      const number = (last -= 1);
      const onProgress = (line: string): void =>
        onOutput?.({ name, number, output: 'stdout' }, Buffer.from(`${line}\n`));
      return server.call({ tool: name, args, digits, signal, ask: requestInput, onProgress });
    },
    warm: () => server.prepare(),
  }));
}
