/** Serves the tools of a capsule to its coding programs over the Model Context Protocol, and carries out their calls one after another. */

import type { AuthInfo, McpHttpHandler, McpRequestContext, Tool } from '@modelcontextprotocol/server';

import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { type Digits, digitsBelow, exactJson } from '@svc/kit/exact-json.ts';
import { kitRefusal } from '@svc/kit/http/refusal.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import { webReply, webRequest } from '@svc/kit/http/web-messages.ts';
import type { ToolDefinition, ToolAnswer, InferenceCall } from '../driver.ts';

interface McpServiceOptions {
  /** The bearer token of the session, asked of every request. */
  readonly token: Secret;
  /** Names that cannot be guessed, for addresses. */
  readonly mintName: () => string;
  /** The version of `svc`, as clients see it. */
  readonly version: string;
  /** Called with every error that is not a refusal. */
  readonly onBug: (error: unknown) => void;
}

/** The tools of one inference, at an address of their own. */
interface ToolsOffer {
  /** Below the service's own address. */
  readonly path: string;
  /** Nothing is found at the address from now on. Harmless when repeated. */
  withdraw(): void;
}

const prefix = '/mcp/';

/**
 * The one place on this machine's loopback where the programs of a session find the capsule's tools, each inference its own: a program that has
 * the token and outlives its inference finds nothing any more. Requests for another host are refused (DNS rebinding).
 */
export class McpService {
  readonly port: number;
  readonly #protocol: McpProtocol;
  readonly #server: HttpServer;
  readonly #offers: Map<string, McpHttpHandler>;
  readonly #options: McpServiceOptions;

  private constructor(parts: {
    readonly port: number;
    readonly protocol: McpProtocol;
    readonly server: HttpServer;
    readonly offers: Map<string, McpHttpHandler>;
    readonly options: McpServiceOptions;
  }) {
    this.port = parts.port;
    this.#protocol = parts.protocol;
    this.#server = parts.server;
    this.#offers = parts.offers;
    this.#options = parts.options;
  }

  /** Binds a free port. Rejects when the host has none. */
  static async open(options: McpServiceOptions): Promise<McpService> {
    const protocol = await import('@modelcontextprotocol/server');
    const offers = new Map<string, McpHttpHandler>();
    const handle = async (request: HttpRequest): Promise<Reply> => {
      const handler = offers.get(request.path);
      if (handler === undefined) return kitRefusal('not_found', 'No inference is under way at this address.').reply;
      const asked = webRequest(request, isOfProtocol, request.body);
      return await webReply(await handler.fetch(asked, carrying(digitsIn(request.body))));
    };
    const server = new HttpServer({
      routes: [{ method: 'POST', path: prefix, prefix: true, body: 'whole', maxBytes: maxMcpBodyBytes, handle }],
      token: options.token,
      onBug: options.onBug,
    });
    const bound = await server.bind({ address: '127.0.0.1', port: 0 });
    if (bound.kind !== 'bound') throw new Error(`no port of 127.0.0.1 can be bound: ${bound.kind}`);
    return new McpService({ port: bound.port, protocol, server, offers, options });
  }

  offer(tools: OfferedTools): ToolsOffer {
    const path = `${prefix}${this.#options.mintName()}`;
    const handler = createToolServer(this.#protocol, tools, this.#options.version);
    this.#offers.set(path, handler);
    return {
      path,
      withdraw: () => {
        if (this.#offers.delete(path)) void handler.close();
      },
    };
  }

  /** Cuts every connection. Harmless when repeated. */
  async close(): Promise<void> {
    this.#offers.clear();
    await this.#server.close(0);
  }
}

type McpProtocol = typeof import('@modelcontextprotocol/server');

const maxMcpBodyBytes: number = 16 * 1024 * 1024;

/**
 * Speaks the Model Context Protocol for the tools of one inference: initialize, tools/list and tools/call over streamable HTTP, without
 * a session of the protocol's own. Answers are event streams, so that a call may take longer than a client waits for headers.
 */
function createToolServer(protocol: McpProtocol, tools: OfferedTools, version: string): McpHttpHandler {
  const definitions = tools.definitions.map(describeTool);
  const serve = ({ authInfo }: McpRequestContext): InstanceType<McpProtocol['Server']> => {
    const digits = authInfo?.extra?.['digits'] as Digits | undefined;
    const server = new protocol.Server({ name: 'svc', version }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools: definitions }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      const { content, isError } = await tools.call({
        name: params.name,
        input: params.arguments ?? {},
        ...(digits === undefined ? {} : { digits }),
      });
      return { content: [{ type: 'text', text: content }], isError };
    });
    return server;
  };
  return protocol.createMcpHandler(serve, { responseMode: 'sse', maxRequestBodySize: maxMcpBodyBytes });
}

/** The library passes on what was found of the caller, and nothing else. The token has been checked by then. */
function carrying(digits: Digits | undefined): { readonly authInfo?: AuthInfo } {
  return digits === undefined ? {} : { authInfo: { token: '', clientId: '', scopes: [], extra: { digits } } };
}

/** Returns the digits of numbers in the arguments of a request, which the library parses into numbers of JavaScript. */
function digitsIn(body: Uint8Array): Digits | undefined {
  try {
    const exact = exactJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
    return exact === null ? undefined : digitsBelow(exact.digits, '/params/arguments');
  } catch (error) {
    // The library refuses it.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
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
  /** The digits of the numbers in `input` that JavaScript cannot hold as the program wrote them. */
  readonly digits?: Digits;
}

function isOfProtocol(name: string): boolean {
  return name === 'accept' || name === 'content-type' || name.startsWith('mcp-');
}

export interface InferenceToolsOptions {
  readonly definitions: readonly ToolDefinition[];
  readonly callTool: InferenceCall['callTool'];
  /** Calls beyond these are answered with an error; null where the program counts its turns itself. */
  readonly maxCalls: number | null;
  /** Called once with what ends the inference: a cancel, or a failure of the runtime itself. */
  readonly onFault: (reason: unknown) => void;
  /** Called when a program goes on calling after an answer that its calls are used up, or that too many wait; `why` is a clause. */
  readonly onStubborn: (why: string) => void;
}

/** How many calls of one inference may wait, and what they may hold in all: answers are event streams, so that no room for bodies is theirs. */
const maxWaiting = 64;
const maxHeld = 32 * 1024 * 1024;

/**
 * Calls of one inference, each carried out after the one before, whatever the program does at once. One that would make those that wait too many
 * is answered with an error.
 */
export class InferenceTools implements OfferedTools {
  readonly definitions: readonly ToolDefinition[];
  readonly #options: InferenceToolsOptions;
  #made = 0;
  /** The calls that count towards `maxCalls`: all but those that are to be made again. */
  #turns = 0;
  /** Under way, too. */
  #waiting = 0;
  #held = 0;
  /** Since a call was last taken. */
  #refused = 0;
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;
  #fault: { readonly reason: unknown } | null = null;

  constructor(options: InferenceToolsOptions) {
    this.definitions = options.definitions;
    this.#options = options;
  }

  /** How many calls came in. */
  get made(): number {
    return this.#made;
  }

  call(request: OfferedCall): Promise<ToolAnswer> {
    this.#made += 1;
    if (this.#isOver) return Promise.resolve(late);
    const { maxCalls } = this.#options;
    if (maxCalls !== null && this.#turns >= maxCalls) {
      this.#turns += 1;
      if (this.#turns > 2 * maxCalls) this.#options.onStubborn('inference.max_turns is used up');
      return Promise.resolve(usedUp(maxCalls));
    }
    const weight = weightOf(request);
    if (this.#waiting > maxWaiting || (this.#waiting > 0 && this.#held + weight > maxHeld)) {
      this.#refused += 1;
      if (this.#refused > maxWaiting) this.#options.onStubborn('too many of its calls wait');
      return Promise.resolve(tooMany);
    }
    this.#refused = 0;
    this.#turns += 1;
    return this.#queue(request, weight);
  }

  #queue(request: OfferedCall, weight: number): Promise<ToolAnswer> {
    this.#waiting += 1;
    this.#held += weight;
    const answer = this.#last
      .then(() => this.#carryOut(request))
      .finally(() => {
        this.#waiting -= 1;
        this.#held -= weight;
      });
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** Takes no more calls, and settles once those under way are over. Rejects with what one of them ended the inference with. */
  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#last;
    if (this.#fault !== null) throw this.#fault.reason;
  }

  async #carryOut(request: OfferedCall): Promise<ToolAnswer> {
    if (this.#isOver || this.#fault !== null) return late;
    try {
      // The provider's own id stays with the program (D1 "Frame types", `artifact`).
      return await this.#options.callTool({ type: 'tool_call', id: '', ...request });
    } catch (error) {
      this.#fault = { reason: error };
      this.#options.onFault(error);
      // The program does not read what went wrong inside.
      throw new Error('the call was broken off', { cause: error });
    }
  }
}

const late: ToolAnswer = { content: 'the task is over: nothing is carried out any more', isError: true };

const tooMany: ToolAnswer = {
  content: 'not carried out: too many calls wait for others. Make it again once those are answered.',
  isError: true,
};

function usedUp(maxCalls: number): ToolAnswer {
  const content = `not carried out: the ${maxCalls} turns of this task are used up. Answer with what is known.`;
  return { content, isError: true };
}

/** What a value takes beside its characters, in characters. */
const valueWeight = 32;

/** What a call holds, in characters; counting stops at what may wait. */
function weightOf({ name, input, digits = {} }: OfferedCall): number {
  let weight = name.length;
  for (const [pointer, text] of Object.entries(digits)) weight += pointer.length + text.length + valueWeight;
  // A program may nest deeper than functions can call themselves.
  const left: unknown[] = [input];
  while (left.length > 0 && weight <= maxHeld) {
    const value = left.pop();
    weight += valueWeight;
    if (typeof value === 'string') weight += value.length;
    if (typeof value !== 'object' || value === null) continue;
    const entries = Array.isArray(value) ? null : Object.keys(value);
    const values: readonly unknown[] = Object.values(value);
    weight += entries?.reduce((sum, key) => sum + key.length, 0) ?? 0;
    if (weight + values.length * valueWeight > maxHeld) return maxHeld + 1;
    for (const each of values) left.push(each);
  }
  return weight;
}
