/** One connection to an MCP server, from its handshake to its end. */

import { isDeepStrictEqual } from 'node:util';

import type * as Sdk from '@modelcontextprotocol/client';
import * as z from 'zod/mini';

import { maxTimerMs } from '@svc/kit/units.ts';
import { printable, quoted, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { Digits } from '@svc/kit/exact-json.ts';
import { unusableAnswer } from './absent-values.ts';
import type { QuestionTurns } from '../question-turns.ts';
import type { AskingCall } from './asking-call.ts';
import { callResult, type CallResult } from './call-content.ts';
import { CallTime } from './call-time.ts';
import { codeless, lost, unusable } from './meant-messages.ts';
import { AskedTooMuch, type CallQuestions } from './server-questions.ts';

/** The whole list of a well-meant server fits in a page or two. */
const maxPages = 64;
const maxListed = 10_000;
/** Limit for all pages together; one alone is no longer than a message. */
const maxListedLength = 16 * 1024 * 1024;
const maxError = 2000;
const maxProgress = 200;
/** The most characters of a failed call in which paths are looked for. */
const maxExplained = 4096;
/** A code of JSON-RPC. */
const methodNotFound = -32601;

export type ServerAnswer<T> =
  | { readonly kind: 'answered'; readonly value: T }
  /** What happened, as a clause after the name of the server, and what may explain it; words of the server are among them. `code` is that of its error. */
  | { readonly kind: 'failed'; readonly reason: string; readonly late: boolean; readonly code?: number };

/** What carries the messages of one connection. */
export interface ServerTransport extends Sdk.Transport {
  /** Whether it can answer another request. */
  readonly isOpen: boolean;
  /** Whether the server has forgotten this client, and so has done nothing of what it was asked last. */
  readonly isExpired?: boolean;
  /** Returns what the server did that ended the connection, as a clause after its name. It is null while the connection is open, and after a close from here. */
  readonly fault: string | null;
  /** What may explain a failure, a line or more each. */
  readonly hints: readonly string[];
  /** These arguments are sent with these digits. */
  keepDigits(args: object, digits: Digits): void;
  /** A sentence for each host that was refused to its process since it was last asked. */
  takeRefused(): readonly string[];
  /** Returns what words of the server name that is hidden from it; null when they name nothing hidden. */
  hiddenIn(words: string): string | null;
}

/** What the library of the protocol gives. */
export type ProtocolSdk = typeof Sdk;

interface ConnectionSettings {
  readonly transportOf: (sdk: ProtocolSdk) => ServerTransport;
  /** The version of this program, as the server sees it. */
  readonly version: string;
  /** Whether the server may speak a revision without a handshake, which is asked for first. */
  readonly asksRevision?: boolean;
  /** What answers its questions; without it they are refused. */
  readonly asking?: typeof AskingCall;
}

export interface RequestLimits {
  readonly signal: AbortSignal;
  /** Does not run while a question of `turns` waits for a person. */
  readonly timeoutMs: number;
  readonly turns?: QuestionTurns | undefined;
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

/** What a call hears of its server before the answer. */
export interface CallHearing {
  readonly questions: CallQuestions;
  /** Called with a line for each step of which the server sends word. */
  readonly onProgress: (line: string) => void;
}

/** One connection to an MCP server, from the handshake to its end. */
export class ServerConnection {
  readonly #sdk: ProtocolSdk;
  readonly #client: Sdk.Client;
  readonly #transport: ServerTransport;
  readonly #asking: typeof AskingCall | null;

  /** The SDK is loaded with the first server: a capsule without one pays nothing for it. */
  static async open(settings: ConnectionSettings): Promise<ServerConnection> {
    return new ServerConnection(await import('@modelcontextprotocol/client'), settings);
  }

  private constructor(sdk: ProtocolSdk, { transportOf, version, asksRevision = false, asking }: ConnectionSettings) {
    this.#sdk = sdk;
    this.#asking = asking ?? null;
    this.#transport = transportOf(sdk);
    const revision = asksRevision ? { versionNegotiation: { mode: 'auto' as const } } : {};
    // What is not declared is refused: sampling, roots, and addresses that a person is to open.
    const capabilities = asking === undefined ? {} : { elicitation: { form: {} } };
    this.#client = new sdk.Client({ name: 'svc', version }, { capabilities, ...revision });
    if (asking === undefined) return;
    this.#client.setRequestHandler('elicitation/create', async ({ params }) => await asking.answer({ ...params }));
  }

  get isOpen(): boolean {
    return this.#transport.isOpen;
  }

  get isExpired(): boolean {
    return this.#transport.isExpired === true;
  }

  /** A line of ours for each host that was refused to its process since it was last asked; empty without one. */
  takeRefused(): string {
    return this.#transport
      .takeRefused()
      .map((sentence) => `\n[${sentence}]`)
      .join('');
  }

  /** A line of ours for each path that the words of a failed call name and that is hidden from its process; empty without one. */
  hiddenIn(words: string): string {
    const told = this.#transport.hiddenIn(words.slice(-maxExplained))?.split('\n') ?? [];
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
  async call(
    { digits, ...params }: CallParameters,
    limits: RequestLimits,
    hearing: CallHearing | null = null,
  ): Promise<ServerAnswer<CallResult>> {
    if (digits !== undefined) this.#transport.keepDigits(params.arguments, digits);
    if (this.#asking === null || hearing === null) {
      return await this.#request('tools/call', { params, schema: callResult, limits });
    }
    const { timeoutMs } = limits;
    const { questions, onProgress } = hearing;
    const call = new this.#asking(questions, { ...limits, late: () => this.#late() });
    const onprogress = (progress: Sdk.Progress): void => onProgress(progressLine(progress));
    const options = { signal: call.signal, timeout: maxTimerMs, onprogress };
    return await this.#answer(timeoutMs, () =>
      call.run(() => this.#client.request({ method: 'tools/call', params }, callResult, options)),
    );
  }

  /** Ends the connection, and the process of one. */
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
    const { signal, timeoutMs, turns } = limits;
    if (turns === undefined) {
      const options = { signal, timeout: Math.min(timeoutMs, maxTimerMs) };
      return await this.#answer(timeoutMs, () => this.#client.request({ method, params }, schema, options));
    }
    const time = new CallTime({ ...limits, late: () => this.#late() });
    turns.onQuestion((waits) => time.asks(waits));
    const options = { signal: time.signal, timeout: maxTimerMs };
    return await this.#answer(timeoutMs, () =>
      time.during(() => this.#client.request({ method, params }, schema, options)),
    );
  }

  #late(): Error {
    const { SdkError, SdkErrorCode } = this.#sdk;
    return new SdkError(SdkErrorCode.RequestTimeout, 'the time is over');
  }

  async #answer<T>(timeoutMs: number, ask: () => Promise<T>): Promise<ServerAnswer<T>> {
    try {
      return { kind: 'answered', value: await ask() };
    } catch (error) {
      if (error instanceof AskedTooMuch) return { kind: 'failed', reason: error.message, late: false };
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
    if (error instanceof this.#sdk.ProtocolError && error.data === lost) return cut(error.message);
    if (error instanceof this.#sdk.SdkHttpError) return cut(fault ?? error.message);
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

function progressLine({ progress, total, message = '' }: Sdk.Progress): string {
  const done = total === undefined ? `${progress}` : `${progress} of ${total}`;
  const said = printable(shortened(message.trim(), maxProgress));
  return said === '' ? done : `${said} (${done})`;
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
