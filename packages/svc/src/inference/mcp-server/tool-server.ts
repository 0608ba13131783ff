import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

import type { McpHttpHandler, Tool } from '@modelcontextprotocol/server';

import type { ToolDefinition, ToolAnswer } from '../driver.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';

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

/** What one inference offers to the program that carries it out. */
export interface OfferedTools {
  readonly definitions: readonly ToolDefinition[];
  /** Carries out one call. What it rejects with reaches the program as a failure without details. */
  call(request: OfferedCall): Promise<ToolAnswer>;
}

export interface OfferedCall {
  readonly name: string;
  readonly input: unknown;
}

/** A request of the kit in the shape that the protocol's library takes. What it says of hosts and tokens has been checked already. */
export function webRequest({ method, path, headers, body }: HttpRequest): Request {
  const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && isOfProtocol(name) ? [[name, value]] : [],
  );
  return new Request(`http://127.0.0.1${path}`, { method, headers: kept, body });
}

function isOfProtocol(name: string): boolean {
  return name === 'accept' || name === 'content-type' || name.startsWith('mcp-');
}

/** The library's answer for the kit. A client that leaves ends the stream behind it. */
export async function webReply(response: Response): Promise<Reply> {
  const { status } = response;
  const contentType = response.headers.get('content-type');
  if (response.body === null || contentType === null) return { kind: 'empty', status };
  if (!contentType.startsWith('text/event-stream')) {
    return { kind: 'bytes', status, contentType, bytes: new Uint8Array(await response.arrayBuffer()) };
  }
  const source = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
  return { kind: 'readable', status, headers: { 'cache-control': 'no-cache' }, contentType, length: null, source };
}
