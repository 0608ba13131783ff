/** A server of the Model Context Protocol for one client of a capsule: one tool, the exported files, and tasks to follow. */

import type * as Sdk from '@modelcontextprotocol/server';

import { Diagnostic, raise } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Patience } from '@svc/kit/http/byte-queue.ts';
import { busy, HttpRefusal } from '@svc/kit/http/refusal.ts';
import { FewAtOnce } from '@svc/kit/few-at-once.ts';
import { checkerWords } from '@svc/kit/diagnostics/checker-words.ts';
import { asJsonObject } from '@svc/protocol/json-object.ts';
import type { DoorCore } from '../core/door-core.ts';
import type { Principal } from '../callers/principal.ts';
import { type CallAnswer, callTool } from './call-tool.ts';
import { callPatience, jsonBytes, ownRoom, readPatience, type Room } from './answer-room.ts';
import type { AskedState, Caller, Context } from './caller.ts';
import { capsuleTool, type IntroducedCapsule, servedCapabilities } from './capsule-tool.ts';
import { afterCursor, listResources, readResource } from './file-resources.ts';
import { namedTask, taskMethods } from './task-handle.ts';
import { type TracedConnection, traceRequests } from './traced-requests.ts';

/** What a capsule is to all of its clients. */
export interface ServedCapsule {
  readonly about: IntroducedCapsule;
  readonly sdk: typeof Sdk;
  readonly states: Sdk.RequestStateCodec<AskedState>;
  /** How clients come. */
  readonly binding: TracedConnection['binding'];
  /** Makes spans of what they ask; null where no telemetry is sent, or not yet. */
  readonly spans: TracedConnection['spans'];
  /** What counts the answer to a request of HTTP. */
  readonly roomOf?: (request: Request) => Room | undefined;
  /** Files that are read. */
  readonly reads: FewAtOnce;
  /** The capsule itself: it may still be starting while clients ask what it is. */
  readonly core: () => DoorCore | Promise<DoorCore>;
}

/** How long a question waits for the user of a client, and how long its answer may take: as long as what is asked for is kept. */
export const answerSecs = 3600;
/** The code of the error for a client that may ask again (docs/doors.md "MCP"). */
const busyCode = -32_000;

/** How many questions one call may ask, with clients from before 2026. */
const maxQuestions = 1000;

export interface ClientServer {
  readonly server: InstanceType<typeof Sdk.Server>;
  /** Calls that wait for their task. */
  calls(): number;
}

/** Questions are answered by the revision of the client: these values are what either understands. */
export function createClientServer(capsule: ServedCapsule, principalOf: (core: DoorCore) => Principal): ClientServer {
  const { about, sdk, states } = capsule;
  const { ProtocolError, ProtocolErrorCode } = sdk;
  const { name, version } = about;
  const server = new sdk.Server(
    { name, version },
    {
      capabilities: servedCapabilities,
      requestState: { verify: async (state, context) => await states.verify(state, context) },
      inputRequired: { maxRounds: maxQuestions, roundTimeoutMs: answerSecs * 1000 },
    },
  );
  const connect = server.connect.bind(server);
  server.connect = async (transport) => {
    const { binding, spans } = capsule;
    const version = (): string | undefined => server.getNegotiatedProtocolVersion();
    traceRequests(transport, { binding, spans, tool: name, version });
    mendErrors(transport, version);
    await connect(transport);
  };
  const roomOf = ({ http }: Context): Room =>
    http?.req === undefined ? ownRoom : (capsule.roomOf?.(http.req) ?? ownRoom);
  const inRoom = async <Answer>(answer: Answer, context: Context, patience: Patience): Promise<Answer> => {
    if (await roomOf(context).reserve(jsonBytes(answer), patience)) return answer;
    throw busy();
  };
  let calls = 0;
  const called = async <Answer>(handle: (caller: Caller) => Promise<Answer>): Promise<Answer> => {
    const core = await capsule.core();
    const caller = {
      core,
      sdk,
      states,
      principal: principalOf(core),
      capabilities: () => server.getClientCapabilities(),
    };
    calls += 1;
    try {
      return await handle(caller);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      if (error instanceof HttpRefusal && error.status === 503) throw new ProtocolError(busyCode, error.message);
      // Its token has ended meanwhile.
      if (error instanceof HttpRefusal) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, error.message);
      // The library would show the client what went wrong inside.
      if (error instanceof Diagnostic) core.session.trap(error);
      else raise(error);
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error');
    } finally {
      calls -= 1;
    }
  };
  const missing = (why: string): Error => new ProtocolError(ProtocolErrorCode.InvalidParams, why);
  server.setRequestHandler('tools/list', () => ({ tools: [capsuleTool(about)] }));
  server.setRequestHandler('tools/call', async ({ params }, context: Context) => {
    if (params.name !== name) throw missing(`there is no tool of that name; the one tool is ${name}`);
    const call = async (caller: Caller): Promise<CallAnswer> =>
      await inRoom(await callTool(params.arguments, context, caller), context, callPatience);
    return (await called(call)) as Sdk.CallToolResult;
  });
  const { reads: turns } = capsule;
  server.setRequestHandler('resources/list', async ({ params }, context: Context) => {
    const after = afterCursor(params?.cursor);
    if (after === null) throw missing('cursor is not one that a list has given');
    const room = roomOf(context);
    const page = await called(async ({ core }) => await listResources(after, { core, room, turns }));
    if (page === null) throw missing('the files cannot be listed, or there are too many');
    return { ...page };
  });
  server.setRequestHandler('resources/read', async ({ params }, context: Context) => {
    const room = roomOf(context);
    const read = await called(async ({ core }) => await readResource(params.uri, { core, room, turns }));
    if (read === null) throw new sdk.ResourceNotFoundError(params.uri, 'Resource not found, or too large');
    return read;
  });
  // Clients that see resources ask for templates of them too.
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  for (const [method, handle] of Object.entries(taskMethods)) {
    server.setRequestHandler(
      method,
      { params: unchecked },
      async (params, context: Context) =>
        await called(async (caller) => {
          const answer = await handle(namedTask(params, caller), context, caller);
          return await inRoom(answer, context, readPatience);
        }),
    );
  }
  return { server, calls: () => calls };
}

/** The library has no schema for the methods of the extension, which check for themselves what they are called with. */
const unchecked = {
  '~standard': { version: 1, vendor: 'svc', validate: (value: unknown) => ({ value }) },
} as const;

/** The code in revisions before 2026; the library answers `-32602`, as the later ones have it. */
const resourceNotFound = -32_002;
const invalidParams = -32_602;

/**
 * Before a server is connected to the transport. What the library sends for its `ResourceNotFoundError` is known by its data, which is the address
 * alone; what it finds wrong with parameters, by the JSON of its checker.
 */
function mendErrors(transport: Sdk.Transport, version: () => string | undefined): void {
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    if (!('error' in message)) return await send(message, options);
    const { error } = message;
    if (isOfBefore(version()) && isUnknown(error)) {
      return await send({ ...message, error: { ...error, code: resourceNotFound } }, options);
    }
    const words = checkerWords(error.message.slice(Math.max(0, error.message.indexOf('['))));
    const inWords = { code: invalidParams, message: `Invalid params: ${words}` };
    await send(words === null ? message : { ...message, error: inWords }, options);
  };
}

function isOfBefore(version: string | undefined): boolean {
  return version !== undefined && version < '2026';
}

function isUnknown({ code, data }: { readonly code: number; readonly data?: unknown }): boolean {
  const keys = Object.keys(asJsonObject(data) ?? {});
  return code === invalidParams && keys.length === 1 && keys[0] === 'uri';
}
