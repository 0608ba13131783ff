/** Keeps the MCP server of one artifact running while it is needed. */

import { Readable } from 'node:stream';

import type { Clock } from '@svc/kit/clock.ts';
import type { Digits } from '@svc/kit/exact-json.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import { captureOutput, OutputLog, type CutBefore } from '../captured-output.ts';
import type { QuestionTurns } from '../question-turns.ts';
import { type InputAnswer, type ToolOutcome, neverReached } from '../tool.ts';
import { type CallResult, contentOf } from './call-content.ts';
import { CallQuestions } from './server-questions.ts';
import { changeOf, checkListed, type ListedTools } from './listed-tools.ts';
import { type PinnedTool, pinChange, pinnedTools } from './pinned-tools.ts';
import type { AskingRequests, RequestsOfCalls } from './requests-of-calls.ts';
import type { ServerConnection, RequestLimits, ServerAnswer, ToolList } from './server-connection.ts';

/** Starting a server and asking it for its tools. */
const maxStartMs = 60_000;
/** After these times, `onWaiting` reports that a server has not started yet, and then what it was refused: it may wait for just that. */
const waitToldMs = 3000;
const refusalToldMs = 5000;
const shownBytes = 64 * 1024;
const loggedBytes = 16 * 1024 * 1024;

/** The last entry of the list of what is left out. */
const cutList = 'what may follow the page whose cursor it gave twice';

/** Where a server is, and how it is reached. */
export interface ServerPlace {
  /** Has the requests of its process judged as those of a call; absent where nobody is asked about them. */
  readonly ofCalls?: RequestsOfCalls;
  /** Gets ready for a connection and opens none. */
  prepare?(): void;
  /** `onListChanged` is called when the server announces that its list of tools changed. */
  connect(client: {
    readonly version: string;
    readonly onListChanged: () => void;
  }): Promise<
    | { readonly kind: 'connected'; readonly connection: ServerConnection }
    | { readonly kind: 'refused'; readonly reason: string }
  >;
}

export interface ToolServerSettings {
  /** The artifact whose server it is. */
  readonly name: string;
  readonly place: ServerPlace;
  /** `capabilities.limits.deadline` of the artifact. */
  readonly deadlineMs: number;
  /** The tools as a person accepted them, where other ones are not used; null where the server may change what it lists. */
  readonly pinned?: readonly PinnedTool[] | null;
  /** The tools that the manifest chooses; null where it offers all. */
  readonly chosen?: readonly string[] | null;
  /** Long answers are kept in its `logs/`. */
  readonly sessionDirectory: string;
  /** The bytes that all logs of the session may still take. */
  readonly logs: LogBudget;
  readonly cutBefore: CutBefore;
  /** Takes out of what the server says what it was shown to let the session in. */
  readonly redact?: (text: string) => string;
  /** The version of this program. */
  readonly version: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The server lists other tools than before. `change` says how they differ from those of the session; null when they no longer do. */
  readonly onChange: (live: ListedTools | null, change: string | null) => void;
  /** Called when a server that starts has not listed its tools after three seconds, with an empty text, and after five when it was refused a host, with a line for each. */
  readonly onWaiting?: (refused: string) => void;
}

export interface ServerCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly digits?: Digits | undefined;
  readonly signal: AbortSignal;
  /** Puts a question of the server to the sender of the task. */
  readonly ask?: (prompt: string) => Promise<InputAnswer>;
  /** Hears what the server says of how far it is. Nothing of the session depends on it. */
  readonly onProgress?: (line: string) => void;
  /** Asks about the requests that the server makes during the call. */
  readonly asking?: AskingRequests;
}

interface Running {
  readonly connection: ServerConnection;
  /** What it lists now. */
  live: LiveList;
}

interface LiveList {
  readonly names: ReadonlySet<string>;
  /** What the session may offer of it; null where that is pinned. */
  readonly listed: ListedTools | null;
  /** The tools whose arguments are others than those that were accepted. */
  readonly refused: ReadonlySet<string>;
}

type Start = ServerAnswer<Running> | { readonly kind: 'refused'; readonly reason: string };

/**
 * The MCP server of one artifact: one connection, opened when it is first needed and kept until the session ends. One that has ended, broke
 * the protocol or let a deadline pass is replaced with the next call (docs/adr/manifest-and-grants.md "MCP servers as artifacts").
 */
export class ToolServer {
  readonly #settings: ToolServerSettings;
  readonly #closing = new AbortController();
  /** All whose processes may be there. */
  readonly #connections = new Set<ServerConnection>();
  #running: Running | null = null;
  #starting: Promise<Start> | null = null;
  #offered: ListedTools | null;
  #isStale = false;
  #change: string | null = null;
  /** The change, until a call has reported it. */
  #untold: string | null = null;
  #calls = 0;

  /** `kept` is what the session offers without asking; null when the server has to be asked. */
  constructor(settings: ToolServerSettings, kept: ListedTools | null) {
    this.#settings = settings;
    this.#offered = kept;
  }

  /** What the session offers. Asks the server when nothing was kept, which then goes on running. */
  async offered(): Promise<ServerAnswer<ListedTools> | { readonly kind: 'refused'; readonly reason: string }> {
    if (this.#offered !== null) return { kind: 'answered', value: this.#offered };
    const start = await this.#connected();
    if (start.kind !== 'answered') return start;
    this.#offered = start.value.live.listed ?? noTools;
    return { kind: 'answered', value: this.#offered };
  }

  /** Whether a person may be asked about the requests of its process. */
  get asksRequests(): boolean {
    return this.#settings.place.ofCalls !== undefined;
  }

  /** Rejects only with the reason of an aborted signal, or for a bug. */
  async call(call: ServerCall): Promise<ToolOutcome> {
    return await this.#call(call, true);
  }

  async #call(call: ServerCall, isFirst: boolean): Promise<ToolOutcome> {
    const { tool, args, digits, signal, ask, asking } = call;
    const { name, deadlineMs } = this.#settings;
    const start = await unlessAborted(this.#connected(), signal);
    if (start.kind === 'refused') return neverReached(`the server of ${name} could not be started: ${start.reason}`);
    const { redact = (text: string) => text } = this.#settings;
    if (start.kind === 'failed') return failed(name, redact(start.reason));
    const { connection, live } = start.value;
    if (live.refused.has(tool)) return neverReached(otherArguments(name, tool));
    const change = this.#takeChange();
    if (!live.names.has(tool)) {
      return failed(name, `does not have the tool ${tool} any more${change === null ? '' : ` (${change})`}`);
    }
    const hearing =
      ask === undefined
        ? null
        : {
            questions: new CallQuestions(name, (prompt) => ask(redact(prompt))),
            onProgress: (line: string) => call.onProgress?.(redact(line)),
          };
    const { ofCalls } = this.#settings.place;
    const limits = { signal, timeoutMs: deadlineMs };
    const send = async (turns?: QuestionTurns): Promise<ServerAnswer<CallResult>> =>
      await connection.call({ name: tool, arguments: args, digits }, { ...limits, turns }, hearing);
    const answer =
      asking === undefined || ofCalls === undefined
        ? await send()
        : await ofCalls.during(asking.requests, async () => await send(asking.turns));
    signal.throwIfAborted();
    if (answer.kind === 'failed') {
      if (connection.isExpired && isFirst) return await this.#call(call, false);
      if (answer.late) this.#retire(connection);
      return failed(name, redact(`${answer.reason}${connection.takeRefused()}`));
    }
    const mute = answer.value.isError ? `the server of ${name} says that it failed, and not why` : '';
    const { text, truncated } = await this.#shown(redact(contentOf(answer.value) || mute), tool);
    const note = change === null ? '' : `\n[the server of ${name} lists other tools than before: ${change}]`;
    const [status, hidden] = answer.value.isError
      ? (['failed', connection.hiddenIn(text)] as const)
      : (['passed', ''] as const);
    return { status, content: `${text}${note}${hidden}${connection.takeRefused()}`, exitCode: null, truncated };
  }

  /** Gets ready for a start and starts nothing. */
  prepare(): void {
    this.#settings.place.prepare?.();
  }

  /** Closes the server's input, and ends one that does not end by that. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#starting;
    await Promise.all([...this.#connections].map((connection) => connection.close()));
  }

  async #connected(): Promise<Start> {
    const running = this.#running;
    if (running === null || !running.connection.isOpen) {
      if (running !== null) this.#retire(running.connection);
      this.#starting ??= this.#start().finally(() => {
        this.#starting = null;
      });
      return await this.#starting;
    }
    if (!this.#isStale) return { kind: 'answered', value: running };
    const listed = await this.#withinStart((limits) => this.#list(running.connection, limits));
    if (listed.kind === 'failed') {
      // Nobody knows what it offers now: it is asked again, or another one is.
      this.#isStale = true;
      if (listed.late) this.#retire(running.connection);
      return listed;
    }
    running.live = listed.value;
    return { kind: 'answered', value: running };
  }

  /** Asks a server what is asked before its tools are called; all of it together is held to one limit of time. */
  async #withinStart<T>(ask: (limits: RequestLimits) => Promise<T>): Promise<T> {
    const timeoutMs = Math.min(this.#settings.deadlineMs, maxStartMs);
    const closing = this.#closing.signal;
    // Neither AbortSignal.timeout() nor .any(): Node collects a timeout that only a joined signal waits for, and it never fires.
    const limit = new AbortController();
    const end = (): void => limit.abort();
    const timer = setTimeout(end, timeoutMs);
    closing.addEventListener('abort', end);
    if (closing.aborted) end();
    try {
      return await ask({ timeoutMs, signal: limit.signal });
    } finally {
      clearTimeout(timer);
      closing.removeEventListener('abort', end);
    }
  }

  async #start(): Promise<Start> {
    const { place, version } = this.#settings;
    if (this.#closing.signal.aborted) return { kind: 'refused', reason: 'the session is over' };
    const onListChanged = (): void => {
      this.#isStale = true;
    };
    const outcome = await place.connect({ version, onListChanged });
    if (outcome.kind === 'refused') return outcome;
    const { connection } = outcome;
    this.#connections.add(connection);
    let refused = '';
    const told = [
      setTimeout(() => this.#settings.onWaiting?.(''), waitToldMs),
      setTimeout(() => {
        refused = connection.takeRefused();
        if (refused !== '') this.#settings.onWaiting?.(refused.trim());
      }, refusalToldMs),
    ];
    const listed = await this.#withinStart(async (limits) => {
      const greeted = await connection.initialize(limits);
      return greeted.kind === 'failed' ? greeted : await this.#list(connection, limits);
    }).finally(() => told.forEach((timer) => clearTimeout(timer)));
    if (listed.kind === 'failed') {
      this.#retire(connection);
      return { ...listed, reason: `${listed.reason}${refused}${connection.takeRefused()}` };
    }
    this.#running = { connection, live: listed.value };
    return { kind: 'answered', value: this.#running };
  }

  async #list(connection: ServerConnection, limits: RequestLimits): Promise<ServerAnswer<LiveList>> {
    this.#isStale = false;
    const answer = await connection.list(limits);
    if (answer.kind === 'failed') return answer;
    const { pinned = null } = this.#settings;
    const value = pinned === null ? await this.#checked(answer.value) : this.#compared(answer.value, pinned);
    return { kind: 'answered', value };
  }

  async #checked({ tools, isCut = false, ...absent }: ToolList): Promise<LiveList> {
    const { leftOut, ...checked } = await checkListed(tools, this.#settings.clock, this.#settings.chosen);
    const listed = { ...checked, ...absent, leftOut: isCut ? [...leftOut, cutList] : leftOut };
    this.#note(listed, this.#offered === null ? null : changeOf(this.#offered, listed));
    return { names: new Set(listed.tools.map(({ name }) => name)), listed, refused: new Set() };
  }

  #compared({ tools }: ToolList, pinned: readonly PinnedTool[]): LiveList {
    const now = pinnedTools(tools);
    const { refused, change } = pinChange(pinned, now);
    this.#note(null, change);
    return { names: new Set(now.map(({ name }) => name)), listed: null, refused };
  }

  #note(listed: ListedTools | null, change: string | null): void {
    if (change === this.#change) return;
    this.#settings.onChange(listed, change);
    this.#change = change;
    this.#untold = change;
  }

  #takeChange(): string | null {
    const change = this.#untold;
    this.#untold = null;
    return change;
  }

  /** It is of no more use; its process is ended meanwhile. */
  #retire(connection: ServerConnection): void {
    if (this.#running?.connection === connection) this.#running = null;
    void connection.close().then(() => this.#connections.delete(connection));
  }

  async #shown(content: string, tool: string): Promise<{ readonly text: string; readonly truncated: boolean }> {
    if (Buffer.byteLength(content) <= shownBytes) return { text: content, truncated: false };
    const { name, sessionDirectory, logs, cutBefore } = this.#settings;
    this.#calls += 1;
    const log = new OutputLog(sessionDirectory, `logs/mcp-${this.#calls}-${name}__${tool}.log`, {
      maxBytes: loggedBytes,
      budget: logs,
    });
    const {
      text,
      cutBytes,
      log: receipt,
    } = await captureOutput(Readable.from([Buffer.from(content)]), { maxBytes: shownBytes, log, cutBefore });
    const kept =
      receipt === null || receipt.problem === null
        ? `the whole is kept in ${receipt?.name}`
        : `${receipt.name}: ${receipt.problem}`;
    const note = `${cutBytes} more bytes are not shown; ${kept}, out of reach of tools: ask for less at a time, where the tool can`;
    return { text: `${text}\n[${note}]`, truncated: true };
  }
}

const noTools: ListedTools = { tools: [], leftOut: [] };

function otherArguments(name: string, tool: string): string {
  return `the server of ${name} now takes other arguments for ${tool} than those that were accepted, so nothing was sent; svc update ${name} shows them`;
}

function failed(name: string, reason: string): ToolOutcome {
  return { status: 'failed', content: `the server of ${name} ${reason}`, exitCode: null, truncated: false };
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
