/** Makes tools for the model of those that an MCP server lists. */

import type { ListedTool } from './listed-tools.ts';
import type { ToolServer } from './tool-server.ts';
import type { Tool } from '../tool.ts';

interface McpToolsSettings {
  /** The artifact. */
  readonly name: string;
  /** What it does, said of each tool that does not say it itself. */
  readonly description: string;
  readonly server: ToolServer;
  readonly listed: readonly ListedTool[];
}

/**
 * The tools of an MCP server, named `<artifact>__<tool>`. Artifacts have no underscore in their names, so that no two artifacts can make
 * the same name, whatever their servers list.
 */
export function createMcpTools({ name: artifact, description, server, listed }: McpToolsSettings): readonly Tool[] {
  return listed.map((tool) => ({
    name: `${artifact}__${tool.name}`,
    artifact,
    description: tool.description === '' ? description : tool.description,
    kind: 'mcp',
    inputSchema: tool.inputSchema,
    call: (args, { signal, digits }) => server.call({ tool: tool.name, args, digits, signal }),
    warm: () => server.prepare(),
  }));
}
