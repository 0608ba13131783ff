/** Makes a span of each request that a client of the Model Context Protocol sends, between its transport and its server. */

import type * as Sdk from '@modelcontextprotocol/server';

import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import type { RequestSpan, RequestSpans } from '@svc/telemetry/request-spans.ts';
import { otherError } from '../core/other-error.ts';

/** How a client came, and to what. */
export interface TracedConnection {
  /** Returns null while no telemetry is sent. */
  readonly spans: () => RequestSpans | null;
  readonly binding: 'HTTP' | 'stdio';
  /** The name of the one tool. */
  readonly tool: string;
  readonly version: () => string | undefined;
}

/** What others than the door can ask would be a span of any name. */
const methods: ReadonlySet<unknown> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
]);

/** The methods that start a task, or go on with one: the work on it belongs to their spans. */
const handing: ReadonlySet<unknown> = new Set(['tools/call', 'tasks/update']);

/** Looks at what passes from now on: before a server is connected to the transport. What is handed to a task has the span for its `traceparent`. */
export function traceRequests(transport: Sdk.Transport, connection: TracedConnection): void {
  const open = new Map<unknown, RequestSpan>();
  const over = (id: unknown, end: Parameters<RequestSpan['end']>[0]): void => {
    open.get(id)?.end(end);
    open.delete(id);
  };
  transport.onmessage = (message, extra) => {
    const spans = connection.spans();
    if (spans === null || !('method' in message)) return;
    const params = asJsonObject(message.params);
    if (!('id' in message)) {
      if (message.method === 'notifications/cancelled') over(params?.['requestId'], takenBack);
      return;
    }
    over(message.id, { errorType: otherError, taskId: null });
    const header = extra?.request?.headers.get('traceparent') ?? undefined;
    const span = begin(spans, { message, params, header }, connection);
    open.set(message.id, span);
    if (!handing.has(message.method) || params === null) return;
    Object.assign(params, { _meta: { ...asJsonObject(params['_meta']), traceparent: span.traceparent } });
  };
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    if (!('method' in message)) over(message.id, endOf(message));
    await send(message, options);
  };
  transport.onclose = () => {
    for (const id of open.keys()) over(id, takenBack);
  };
}

const takenBack = { errorType: 'cancelled', taskId: null };

/** On standard streams nobody else bounds it. */
const maxId = 256;

interface Asked {
  readonly message: JsonObject;
  readonly params: JsonObject | null;
  /** The header of the request that brought it. */
  readonly header: string | undefined;
}

function begin(
  spans: RequestSpans,
  { message, params, header }: Asked,
  { binding, tool, version }: TracedConnection,
): RequestSpan {
  const method = methods.has(message['method']) ? String(message['method']) : null;
  const isCall = method === 'tools/call';
  const called = isCall && params?.['name'] === tool ? tool : null;
  const attributes = {
    mcpMethod: method ?? otherError,
    toolName: called,
    jsonRpcId: shortened(String(message['id']), maxId),
    mcpVersion: version(),
    transport: binding === 'HTTP' ? 'tcp' : 'pipe',
    networkProtocol: binding === 'HTTP' ? 'http' : null,
  };
  const given = asJsonObject(params?.['_meta'])?.['traceparent'];
  const traceparent = typeof given === 'string' ? given : header;
  const name = method !== null && called !== null ? `${method} ${called}` : method;
  return spans.begin({ door: 'mcp', binding, name, attributes, isToolCall: isCall, traceparent });
}

function endOf({ error, result }: JsonObject): Parameters<RequestSpan['end']>[0] {
  const fault = asJsonObject(error);
  if (fault !== null) {
    const code = String(fault['code']);
    return { errorType: code, taskId: null, attributes: { rpcStatus: code } };
  }
  const answer = asJsonObject(result);
  const taskId = asJsonObject(answer?.['structuredContent'])?.['task_id'] ?? answer?.['taskId'];
  return {
    errorType: answer?.['isError'] === true ? 'tool_error' : null,
    taskId: typeof taskId === 'string' ? taskId : null,
  };
}
