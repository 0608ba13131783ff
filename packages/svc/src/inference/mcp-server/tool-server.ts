import type { McpHttpHandler, Tool } from '@modelcontextprotocol/server';

import type { ToolDefinition } from '../driver.ts';
import type { OfferedTools } from './offered-tools.ts';

export type McpProtocol = typeof import('@modelcontextprotocol/server');

export const maxMcpBodyBytes: number = 16 * 1024 * 1024;

/**
 * Speaks the Model Context Protocol for the tools of one inference: initialize, tools/list and tools/call over streamable HTTP, without
 * a session of the protocol's own. Answers are event streams, so that a call may take longer than a client waits for headers.
 */
export function createToolServer(protocol: McpProtocol, tools: OfferedTools, version: string): McpHttpHandler {
  const definitions = tools.definitions.map(describeTool);
  const serve = (): InstanceType<McpProtocol['Server']> => {
    const server = new protocol.Server({ name: 'svc', version }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools: definitions }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      const { content, isError } = await tools.call({ name: params.name, input: params.arguments ?? {} });
      return { content: [{ type: 'text', text: content }], isError };
    });
    return server;
  };
  return protocol.createMcpHandler(serve, { responseMode: 'sse', maxRequestBodySize: maxMcpBodyBytes });
}

/** The protocol wants `type: object` spelled out, which a schema may leave to be understood. */
function describeTool({ name, description, inputSchema }: ToolDefinition): Tool {
  return { name, description, inputSchema: { ...inputSchema, type: 'object' } };
}
