/** An MCP server on the web, made with the official library, whose ways a test changes while it runs. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';

import {
  type CallToolResult,
  createMcpHandler,
  inputRequired,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

interface RemoteTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const nothing = { type: 'object', properties: {} };

/** `echo` gives its text back, `big` as many bytes as it is asked for, `slow` never answers, `book` asks the forms of `ways` and gives the answers back. */
export const remoteTools: readonly RemoteTool[] = [
  { name: 'echo', description: 'Says it again.', inputSchema: text },
  { name: 'big', description: 'A lot.', inputSchema: { type: 'object', properties: { bytes: { type: 'integer' } } } },
  { name: 'slow', description: 'Takes for ever.', inputSchema: nothing },
];

/** A tool that sends three notifications of progress before it answers. */
export const stepsTool: RemoteTool = { name: 'steps', description: 'Does it step by step.', inputSchema: nothing };

/** A tool that is listed by servers which ask. */
export const bookTool: RemoteTool = { name: 'book', description: 'Books a table.', inputSchema: nothing };

/** Who gives the tokens that a server wants, and what the server says of that (RFC 9728). */
interface Protection {
  readonly issuer: string;
  readonly isKnown: (token: string) => boolean;
  /** Over what the server says of itself. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Where it says it, in place of its own well-known place. */
  readonly metadataUrl?: string;
}

interface Ways {
  tools: readonly RemoteTool[];
  /** Asked for in each request; null where anybody may ask. */
  authorization: string | null;
  /** Tokens that are asked for; null where none are. */
  protection: Protection | null;
  /** Whether clients of the revision 2026-07-28 are served too. */
  isModern: boolean;
  /** Answers in place of the library; false leaves it to that. */
  instead: (request: IncomingMessage, response: ServerResponse, method: string) => boolean;
  /** What `echo` says to a text. */
  answer: (text: string) => string;
  /** What `book` asks one after the other: the message and the schema of each form, or anything else that is wrong. */
  forms: readonly object[];
}

/** What a request was: its method of the protocol, or the one of HTTP without one. */
interface SeenRequest {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A server of both revisions on a port of loopback. */
export class RemoteMcpServer {
  readonly ways: Ways = {
    tools: remoteTools,
    authorization: null,
    protection: null,
    isModern: true,
    instead: () => false,
    answer: (given) => given,
    forms: [],
  };
  readonly seen: SeenRequest[] = [];
  /** Calls that the client gave up. */
  left = 0;
  readonly #sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  readonly #modern = createMcpHandler(() => this.#protocolServer());
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async start(): Promise<RemoteMcpServer> {
    const made = new RemoteMcpServer();
    made.#server.listen(0, '127.0.0.1');
    await once(made.#server, 'listening');
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  /** The methods that were asked for so far. */
  get methods(): readonly string[] {
    return this.seen.map(({ method }) => method);
  }

  /** Forgets all sessions, as a restart does. */
  forget(): void {
    this.#sessions.clear();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #protocolServer(): Server {
    const server = new Server({ name: 'remote', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
    server.setRequestHandler('tools/list', () => ({ tools: this.ways.tools as never }));
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const { text: said = '', bytes = 0 } = (params.arguments ?? {}) as { text?: string; bytes?: number };
      if (params.name === 'slow') {
        context.mcpReq.signal.addEventListener('abort', () => void (this.left += 1));
        await after(60_000, undefined, { signal: context.mcpReq.signal, ref: false });
      }
      if (params.name === 'steps') {
        const { progressToken = 0 } = context.mcpReq._meta ?? {};
        for (const progress of [1, 2, 3]) {
          const told = { progressToken, progress, total: 3, message: this.ways.answer(`step\u001b[2J ${progress}`) };
          await context.mcpReq.notify({ method: 'notifications/progress', params: told });
          // Once the answer is there, the library of the client passes on no notification that came before.
          await after(50);
        }
      }
      if (params.name === 'book') return this.#booked(context.mcpReq.inputResponses);
      return { content: [{ type: 'text', text: params.name === 'big' ? 'x'.repeat(bytes) : this.ways.answer(said) }] };
    });
    return server;
  }

  /** The library asks clients of either revision in their way. */
  #booked(answers: object | undefined): ReturnType<typeof inputRequired> | CallToolResult {
    if (answers !== undefined) return { content: [{ type: 'text', text: JSON.stringify(Object.values(answers)) }] };
    const asked = this.ways.forms.map((form, at) => [`q${at}`, { method: 'elicitation/create', params: form }]);
    return inputRequired({ inputRequests: Object.fromEntries(asked) as never });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const method = methodIn(body) ?? request.method ?? '';
    this.seen.push({ method, headers: request.headers, body: body.toString() });
    if (this.ways.instead(request, response, method)) return;
    const { authorization } = this.ways;
    if (authorization !== null && request.headers.authorization !== authorization) {
      response.writeHead(401, { 'content-type': 'text/plain' }).end('who are you?');
      return;
    }
    if (this.ways.protection !== null && this.#isRefused(request, response, this.ways.protection)) return;
    const answer = await this.#answer(request, response, { body, method });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const piece of answer.body ?? []) response.write(piece);
    response.end();
  }

  /** Says who it is, and refuses what shows no token that holds. */
  #isRefused(request: IncomingMessage, response: ServerResponse, protection: Protection): boolean {
    const place = `${new URL(this.url).origin}/.well-known/oauth-protected-resource/mcp`;
    if (request.url?.startsWith('/.well-known/') === true) {
      const own = { resource: this.url, authorization_servers: [protection.issuer], scopes_supported: ['tools'] };
      const isOwn = request.url === new URL(place).pathname;
      response.writeHead(isOwn ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...own, ...protection.metadata }));
      return true;
    }
    const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (protection.isKnown(token)) return false;
    const challenge = `Basic realm="tools", Bearer resource_metadata="${protection.metadataUrl ?? place}", scope="tools"`;
    response.writeHead(401, { 'www-authenticate': challenge, 'content-type': 'text/plain' }).end('who are you?');
    return true;
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    { body, method }: { readonly body: Buffer; readonly method: string },
  ): Promise<Response> {
    const leaving = new AbortController();
    response.on('close', () => {
      if (!response.writableFinished) leaving.abort();
    });
    const asked = new Request(this.url, {
      method: request.method ?? 'GET',
      headers: Object.entries(request.headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as [string, string]] : [],
      ),
      ...(body.length === 0 ? {} : { body }),
      signal: leaving.signal,
    });
    const id = request.headers['mcp-session-id'];
    if (method === 'initialize') {
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => `session-${this.seen.length}`,
        onsessioninitialized: (made) => void this.#sessions.set(made, transport),
      });
      await this.#protocolServer().connect(transport);
      return await transport.handleRequest(asked);
    }
    if (typeof id === 'string') {
      const transport = this.#sessions.get(id);
      return transport === undefined
        ? new Response('no such session', { status: 404 })
        : await transport.handleRequest(asked);
    }
    return this.ways.isModern ? await this.#modern.fetch(asked) : new Response('no session', { status: 400 });
  }
}

function methodIn(body: Buffer): string | undefined {
  try {
    return (JSON.parse(body.toString()) as { readonly method?: string }).method;
  } catch {
    return undefined;
  }
}
