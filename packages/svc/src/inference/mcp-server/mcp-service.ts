import type { McpHttpHandler } from '@modelcontextprotocol/server';

import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { kitRefusal } from '@svc/kit/http/refusal.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import {
  createToolServer,
  maxMcpBodyBytes,
  type McpProtocol,
  type OfferedTools,
  webReply,
  webRequest,
} from './tool-server.ts';

export interface McpServiceOptions {
  /** The bearer token of the session, asked of every request. */
  readonly token: Secret;
  /** Names that cannot be guessed, for addresses. */
  readonly mintName: () => string;
  /** Of svc, told to clients. */
  readonly version: string;
  /** Told of anything that was thrown and is no refusal. */
  readonly onBug: (error: unknown) => void;
}

/** The tools of one inference, at an address of their own. */
export interface ToolsOffer {
  /** Below the service's own address. */
  readonly path: string;
  /** Nothing is found at the address from now on. Harmless when repeated. */
  withdraw(): void;
}

const prefix = '/mcp/';

/**
 * The one place on this machine's loopback where the programs of a session find the capsule's tools, each inference its own: whoever has
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
      return await webReply(await handler.fetch(webRequest(request)));
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
