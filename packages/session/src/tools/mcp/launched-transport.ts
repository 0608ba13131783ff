/** Speaks the Model Context Protocol with a contained process. */

import type * as Sdk from '@modelcontextprotocol/client';
import { endProcess, OutputTail, type OutputLine, readLines } from '@svc/sandbox/launched-process.ts';
import type { HiddenIn, LaunchEnd, LaunchedProcess } from '@svc/sandbox/launcher.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import type { Digits } from '@svc/kit/exact-json.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { KeptDigits } from './kept-digits.ts';
import { messagesIn } from './meant-messages.ts';
import type { ServerTransport } from './server-connection.ts';

const maxMessageBytes = 16 * 1024 * 1024;
/** How many values one message may hold. A limit on bytes alone would let empty objects take fifty times their size and seconds to read. */
const maxMessageValues = 262_144;
/** Limit between two requests of this client. Many servers greet or log on their standard output, where they should not. */
const maxStrayLines = 100;
/** Limit between two requests too: for notifications, requests of the server, answers to nothing, empty lines. */
const maxUnasked = 10_000;
const maxUnaskedBytes = 64 * 1024 * 1024;
const stderrTailBytes = 4096;
/** A server that closed its output and still runs after this time will not say more. */
const exitGraceMs = 300;
const silence = 'closed its output';
interface LaunchedTransportSettings {
  readonly launched: LaunchedProcess;
  /** Problems that the launcher found and that may keep it from running. */
  readonly problems: readonly string[];
  /** Returns the hidden file that its last words name; null when they name nothing hidden. */
  readonly hiddenIn: HiddenIn;
  readonly sdk: Pick<
    typeof Sdk,
    'isJSONRPCErrorResponse' | 'isJSONRPCNotification' | 'isJSONRPCRequest' | 'isJSONRPCResultResponse'
  >;
  /** How long the server may take to end by itself, and again after it was asked to. */
  readonly endGraceMs: number;
  /** Called when the server announces that its list of tools changed. */
  readonly onListChanged: () => void;
}

/**
 * The stdio transport of the Model Context Protocol over a process that a `Launcher` started: one JSON-RPC message a line. The client gets
 * requests of the server, which it refuses, or answers if they are a ping. Of notifications it gets only the one that says that the
 * list of tools has changed. A server that breaks the bounds is ended, and `fault` says of what.
 */
export class LaunchedTransport implements ServerTransport {
  onclose: Sdk.Transport['onclose'];
  onerror: Sdk.Transport['onerror'];
  onmessage: Sdk.Transport['onmessage'];
  readonly #settings: LaunchedTransportSettings;
  readonly #stderr = new OutputTail(stderrTailBytes);
  /** Ids of requests that have no answer yet, each with its method. */
  readonly #asked = new Map<Sdk.RequestId, string>();
  readonly #digits = new KeptDigits();
  #followed: Promise<void> | null = null;
  #fault: string | null = null;
  #isClosed = false;
  #isSilent = false;
  #straySample: string | null = null;
  /** The id of an answer that no open request has. */
  #strangeId: Sdk.RequestId | null = null;
  #hasSpoken = false;
  #strayLines = 0;
  #unasked = 0;
  #unaskedBytes = 0;

  constructor(settings: LaunchedTransportSettings) {
    this.#settings = settings;
  }

  get isOpen(): boolean {
    return !this.#isSilent && !this.#isClosed;
  }

  get fault(): string | null {
    return this.#fault;
  }

  /** What may explain a failure, a line or more each: what the launcher found, stray output, the last words on stderr. */
  get hints(): readonly string[] {
    const [stray, strange] = [this.#straySample, this.#strangeId];
    const said = this.#stderr.text();
    const hidden = this.hiddenIn(said);
    return [
      ...this.#settings.problems,
      ...(hidden === null ? [] : [hidden]),
      ...(strange === null ? [] : [`it answered with the id ${quoted(String(strange))}, which no open request has`]),
      ...(stray === null ? [] : [`lines of its standard output were no messages, the first: ${stray}`]),
      ...(said === '' ? [] : [`its last words on stderr:\n${said}`]),
    ];
  }

  takeRefused(): readonly string[] {
    return this.#settings.launched.takeRefusedHosts?.() ?? [];
  }

  hiddenIn(words: string): string | null {
    return this.#settings.hiddenIn(words, this.#settings.launched.hides);
  }

  start(): Promise<void> {
    this.#followed ??= this.#follow();
    return Promise.resolve();
  }

  send(message: Sdk.JSONRPCMessage): Promise<void> {
    const { stdin } = this.#settings.launched;
    if ('method' in message && 'id' in message) {
      this.#strayLines = 0;
      this.#strangeId = null;
      this.#unasked = 0;
      this.#unaskedBytes = 0;
      this.#asked.set(message.id, message.method);
    } else this.#forgetCanceled(message);
    // If the server does not read any more, the end of its process or a time limit shows it.
    if (stdin?.writable === true) stdin.write(`${this.#digits.textOf(message)}\n`);
    return Promise.resolve();
  }

  keepDigits(args: object, digits: Digits): void {
    this.#digits.keep(args, digits);
  }

  /** Closes the input of the server, and ends a server that does not end by that. Settles when it is over. */
  async close(): Promise<void> {
    const { launched, endGraceMs } = this.#settings;
    this.#followed ??= this.#follow();
    this.#lose(this.#isSilent ? silence : null);
    launched.stdin?.end();
    const force = setTimeout(() => void endProcess(launched, endGraceMs), endGraceMs);
    await this.#followed;
    clearTimeout(force);
  }

  async #follow(): Promise<void> {
    const { launched, endGraceMs } = this.#settings;
    const stderr = this.#stderr.read(launched.stderr);
    for await (const line of readLines(launched.stdout, maxMessageBytes)) this.#take(line);
    this.#isSilent = true;
    // If it exits at once, its exit status is the better reason.
    const silent = setTimeout(() => this.#break(silence), Math.min(exitGraceMs, endGraceMs));
    const [end] = await Promise.all([launched.ended, stderr]);
    clearTimeout(silent);
    this.#lose(endingOf(end));
  }

  #take(line: OutputLine): void {
    if (line.kind === 'too-long') return this.#break(`wrote a message of more than ${maxMessageBytes} bytes`);
    if (this.#isClosed) return;
    this.#unaskedBytes += line.bytes.length;
    if (this.#unaskedBytes > maxUnaskedBytes) {
      return this.#break(`wrote more than ${maxUnaskedBytes} bytes that nobody asked for`);
    }
    const text = line.bytes.toString('utf8').replace(/^\uFEFF/, '');
    if (text.trim() === '') return this.#count();
    const json = parseJsonText(text, maxMessageValues);
    if (json.kind === 'too-many') return this.#break(`wrote a message of more than ${maxMessageValues} values`);
    if (json.kind !== 'json') return this.#stray(text);
    for (const message of messagesIn(json.value, this.#asked)) if (!this.#pass(message)) this.#stray(text);
  }

  /** The client that cancels a request waits for its answer no longer. */
  #forgetCanceled(message: Sdk.JSONRPCMessage): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return;
    const id = message.params?.['requestId'];
    if (typeof id === 'string' || typeof id === 'number') this.#asked.delete(id);
  }

  /** Returns false if it is no message. */
  #pass(message: unknown): boolean {
    const { sdk, onListChanged } = this.#settings;
    if (sdk.isJSONRPCRequest(message)) {
      this.#count();
      this.onmessage?.(message);
      return true;
    }
    if (sdk.isJSONRPCResultResponse(message) || sdk.isJSONRPCErrorResponse(message)) {
      this.#count();
      if (message.id !== undefined && !this.#asked.delete(message.id)) this.#strangeId ??= message.id;
      this.onmessage?.(message);
      return true;
    }
    if (!sdk.isJSONRPCNotification(message)) return false;
    this.#count();
    if (message.method === 'notifications/tools/list_changed') onListChanged();
    return true;
  }

  #count(): void {
    this.#hasSpoken = true;
    this.#unasked += 1;
    if (this.#unasked > maxUnasked) this.#break(`sent more than ${maxUnasked} messages that nobody asked for`);
  }

  #stray(text: string): void {
    if (!this.#hasSpoken && /^content-length: *\d+\s*$/i.test(text)) {
      return this.#break('wrote the header Content-Length, as language servers do, where each message is a line');
    }
    this.#straySample ??= quoted(text);
    this.#strayLines += 1;
    if (this.#strayLines > maxStrayLines) {
      this.#break(`wrote more than ${maxStrayLines} lines that are not messages`);
    }
  }

  #break(fault: string): void {
    const { launched, endGraceMs } = this.#settings;
    this.#lose(fault);
    void endProcess(launched, endGraceMs);
  }

  /** The first reason counts; every call that waits for an answer fails at once. */
  #lose(fault: string | null): void {
    if (this.#isClosed) return;
    this.#fault = fault;
    this.#isClosed = true;
    this.onclose?.();
  }
}

function endingOf(end: LaunchEnd): string {
  return end.kind === 'exited' ? `exited with status ${end.exitCode}` : `was ended by ${end.signal}`;
}
