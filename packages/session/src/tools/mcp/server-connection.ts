/** One process of an MCP server, from its handshake to its end. */

import { isDeepStrictEqual } from 'node:util';

import type * as Sdk from '@modelcontextprotocol/client';
import * as z from 'zod/mini';

import { maxTimerMs } from '@svc/kit/units.ts';
import { quoted, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { Digits } from '@svc/kit/exact-json.ts';
import type { HiddenIn, LaunchedProcess } from '@svc/sandbox/launcher.ts';
import { unusableAnswer } from './absent-values.ts';
import { callResult, type CallResult } from './call-content.ts';
import { LaunchedTransport } from './launched-transport.ts';
import { codeless, unusable } from './meant-messages.ts';

/** The whole list of a well-meant server fits in a page or two. */
const maxPages = 64;
const maxListed = 10_000;
/** Limit for all pages together; one alone is no longer than a message. */
const maxListedLength = 16 * 1024 * 1024;
const maxError = 2000;
/** The most characters of a failed call in which paths are looked for. */
const maxExplained = 4096;
/** A code of JSON-RPC. */
const methodNotFound = -32601;

export type ServerAnswer<T> =
  | { readonly kind: 'answered'; readonly value: T }
  /** What happened, as a clause after the name of the server, and what may explain it; words of the server are among them. `code` is that of its error. */
  | { readonly kind: 'failed'; readonly reason: string; readonly late: boolean; readonly code?: number };

interface ConnectionSettings {
  readonly launched: LaunchedProcess;
  readonly problems: readonly string[];
  /** Returns what its last words name that is hidden from it; null when they name nothing hidden. */
  readonly hiddenIn: HiddenIn;
  /** The version of this program, as the server sees it. */
  readonly version: string;
  readonly endGraceMs: number;
  readonly onListChanged: () => void;
}

export interface RequestLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

const toolPage = z.object({ tools: z._default(z.array(z.unknown()), []), nextCursor: z.optional(z.string()) });

/** What a server lists, as it wrote it. */
export interface ToolList {
  readonly tools: readonly unknown[];
  /** It ends there because the server gave a cursor that it had given before. */
  readonly isCut?: boolean;
  /** Why the server has no list, as a clause after its name. */
  readonly absent?: string;
}

export interface CallParameters {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly digits: Digits | undefined;
}

/** One process of an MCP server, from the handshake to its end. */
export class ServerConnection {
  readonly #sdk: typeof Sdk;
  readonly #client: Sdk.Client;
  readonly #transport: LaunchedTransport;
  readonly #launched: LaunchedProcess;
  readonly #hiddenIn: HiddenIn;

  /** The SDK is loaded with the first server: a capsule without one pays nothing for it. */
  static async open(settings: ConnectionSettings): Promise<ServerConnection> {
    return new ServerConnection(await import('@modelcontextprotocol/client'), settings);
  }

  private constructor(sdk: typeof Sdk, settings: ConnectionSettings) {
    this.#sdk = sdk;
    this.#launched = settings.launched;
    this.#hiddenIn = settings.hiddenIn;
    this.#transport = new LaunchedTransport({ ...settings, sdk });
    // No capability is declared, so sampling, elicitation and roots are refused.
    this.#client = new sdk.Client({ name: 'svc', version: settings.version }, { capabilities: {} });
  }

  get isOpen(): boolean {
    return this.#transport.isOpen;
  }

  /** A line of ours for each host that was refused to its process since it was last asked; empty without one. */
  takeRefused(): string {
    const refused = this.#launched.takeRefusedHosts?.() ?? [];
    return refused.map((sentence) => `\n[${sentence}]`).join('');
  }

  /** A line of ours for each path that the words of a failed call name and that is hidden from its process; empty without one. */
  hiddenIn(words: string): string {
    const told = this.#hiddenIn(words.slice(-maxExplained), this.#launched.hides)?.split('\n') ?? [];
    return told.map((line) => `\n[${line}]`).join('');
  }

  async initialize({ signal, timeoutMs }: RequestLimits): Promise<ServerAnswer<null>> {
    return await this.#answer(timeoutMs, async () => {
      await this.#client.connect(this.#transport, { signal, timeout: Math.min(timeoutMs, maxTimerMs) });
      return null;
    });
  }

  /**
   * All that the server lists. Many write an empty cursor where there is no further page. One that declares other lists and not this is not asked; many that
   * have tools declare nothing at all.
   */
  async list(limits: RequestLimits): Promise<ServerAnswer<ToolList>> {
    const { tools: hasTools, ...others } = this.#client.getServerCapabilities() ?? {};
    const declared = Object.keys(others);
    if (hasTools === undefined && declared.length > 0) {
      return { kind: 'answered', value: { tools: [], absent: `declares ${declared.join(' and ')}, and no tools` } };
    }
    const answer = await this.#pages(limits);
    if (answer.kind === 'answered' || answer.code !== methodNotFound) return answer;
    return { kind: 'answered', value: { tools: [], absent: `has no list of tools: it ${answer.reason}` } };
  }

  async #pages(limits: RequestLimits): Promise<ServerAnswer<ToolList>> {
    const tools: unknown[] = [];
    const cursors = new Set<string>();
    let last: readonly unknown[] = [];
    let length = 0;
    let cursor = '';
    for (let page = 0; page < maxPages; page += 1) {
      const params = cursor === '' ? {} : { cursor };
      const answer = await this.#request('tools/list', { params, schema: toolPage, limits });
      if (answer.kind === 'failed') return answer;
      const { tools: listed, nextCursor = '' } = answer.value;
      const isCut = cursors.has(nextCursor);
      // A server that heeds no cursor gives one page again and again.
      if (isCut && isDeepStrictEqual(listed, last)) return { kind: 'answered', value: { tools, isCut } };
      if (tools.length + listed.length > maxListed) break;
      tools.push(...listed);
      if (nextCursor === '' || isCut) return { kind: 'answered', value: { tools, isCut } };
      length += JSON.stringify(listed).length;
      if (length > maxListedLength) return tooLong('tools of more than 16 MiB');
      cursors.add(nextCursor);
      [cursor, last] = [nextCursor, listed];
    }
    return tooLong(`more than ${maxListed} tools, or in more than ${maxPages} pages`);
  }

  /** Sends the server an abort or a passed limit, and does not wait for it. */
  async call({ digits, ...params }: CallParameters, limits: RequestLimits): Promise<ServerAnswer<CallResult>> {
    if (digits !== undefined) this.#transport.keepDigits(params.arguments, digits);
    return await this.#request('tools/call', { params, schema: callResult, limits });
  }

  /** Ends the process. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #request<T>(
    method: string,
    {
      params,
      schema,
      limits,
    }: { readonly params: Record<string, unknown>; readonly schema: z.ZodMiniType<T>; readonly limits: RequestLimits },
  ): Promise<ServerAnswer<T>> {
    const { signal, timeoutMs } = limits;
    const options = { signal, timeout: Math.min(timeoutMs, maxTimerMs) };
    return await this.#answer(timeoutMs, () => this.#client.request({ method, params }, schema, options));
  }

  async #answer<T>(timeoutMs: number, ask: () => Promise<T>): Promise<ServerAnswer<T>> {
    try {
      return { kind: 'answered', value: await ask() };
    } catch (error) {
      if (!this.#isAboutServer(error)) throw error;
      const late = error instanceof this.#sdk.SdkError && error.code === this.#sdk.SdkErrorCode.RequestTimeout;
      const code = error instanceof this.#sdk.ProtocolError ? { code: error.code } : {};
      return { kind: 'failed', reason: this.#reasonOf(error, late ? timeoutMs : null), late, ...code };
    }
  }

  /** What the SDK throws for what a server does: errors of its own classes, and plain ones. Anything else is a bug. */
  #isAboutServer(error: unknown): error is Error {
    const { SdkError, ProtocolError } = this.#sdk;
    return (
      error instanceof SdkError ||
      error instanceof ProtocolError ||
      (error instanceof Error && error.constructor === Error)
    );
  }

  #reasonOf(error: Error, lateAfterMs: number | null): string {
    const { fault, hints } = this.#transport;
    if (error instanceof this.#sdk.ProtocolError) return `answered ${whatOf(error)}: ${cut(error.message)}`;
    const happened =
      fault ?? (lateAfterMs === null ? this.#unusableOf(error) : `did not answer within ${lateAfterMs / 1000} s`);
    return [happened, ...hints].join('\n');
  }

  #unusableOf({ message }: Error): string {
    const [, version] = /^Server's protocol version is not supported: (.*)$/s.exec(message) ?? [];
    if (version === undefined) return cut(unusableAnswer(message));
    const ours = this.#sdk.SUPPORTED_PROTOCOL_VERSIONS.join(', ');
    return `speaks the version ${quoted(version)} of the protocol, and not one of ${ours}`;
  }
}

function whatOf({ code, data }: { readonly code: number; readonly data?: unknown }): string {
  if (data === unusable) return 'what cannot be used';
  return data === codeless ? 'with an error' : `with error ${code}`;
}

function tooLong(what: string): ServerAnswer<never> {
  return { kind: 'failed', reason: `lists ${what}`, late: false };
}

function cut(text: string): string {
  return shortened(text, maxError);
}
