/** Carries the messages of the Model Context Protocol over standard streams, one a line, and refuses what the library would not answer. */

import { type Readable, Writable } from 'node:stream';

import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';

import { raise } from '@svc/kit/diagnostics/diagnostic.ts';
import { readMessage } from '@svc/doors/mcp/read-message.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { Lines, maxMessage, tooLong } from './lines.ts';
import { OpenRequests } from './open-requests.ts';

const invalidRequest = -32_600;
/** As at `/mcp`: the same may be asked again (docs/doors.md "MCP"). */
const busy = -32_000;
/** Characters that the client has not taken. Beyond, nothing more is read of one that does not read either, and it is notified of nothing. */
const maxUntaken = 16 * 1024 * 1024;

/**
 * The client at the other end. A line of more than 10 MiB, one that is no JSON or no message, and a request beyond those that may wait have an error for
 * an answer, and the next line is read. Answers of the client are read however many of its requests wait (docs/adr/doors.md "MCP").
 */
export class McpWire implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  readonly #input: Readable;
  readonly #output: Output;
  readonly #stderr: Output;
  readonly #lines = new Lines(maxMessage);
  readonly #open = new OpenRequests();
  /** The request that has had its answer from others; null once that of the library has been passed over, or where none has. */
  #answeredId: RequestId | null;
  #untaken = 0;
  #hasDropped = false;
  #bytesAtHand = 0;
  #onTaken = (): void => {};
  #isClosed = false;

  constructor(input: Readable, { stdout, stderr }: CommandContext, answeredId: RequestId | null = null) {
    this.#input = input;
    this.#output = stdout;
    this.#stderr = stderr;
    this.#answeredId = answeredId;
  }

  /** Reads from now on, until the input ends. */
  async start(): Promise<void> {
    const input = this.#input;
    this.#output.stream.on('error', this.#end).on('drain', this.#drained);
    if (input.readableEnded || input.destroyed) return void setImmediate(this.#end);
    const write = (bytes: Buffer, _: unknown, done: () => void): void => void this.#read(bytes).then(done, raise);
    // An input that is cut off is closed with an error, which is its end too.
    input.on('error', () => {}).once('close', () => input.readableEnded || this.#end());
    input.pipe(new Writable({ write })).once('finish', this.#end);
  }

  /** Does not wait for the client: what it leaves lying keeps its own next messages waiting, and nothing else. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error('the client has left');
    if (isJSONRPCResponse(message) && message.id !== undefined) {
      this.#open.settle(message.id);
      if (message.id === this.#answeredId && 'result' in message) {
        this.#answeredId = null;
        return;
      }
    }
    if (isJSONRPCNotification(message) && this.#untaken > maxUntaken)
      return this.sayDropped('the client does not read');
    this.#write(message);
  }

  /** Bytes of the line whose message `onmessage` is being given. */
  get bytesAtHand(): number {
    return this.#bytesAtHand;
  }

  /** Warns the operator, once, that messages which nobody answers are lost. */
  sayDropped(why: string): void {
    if (this.#hasDropped) return;
    this.#hasDropped = true;
    this.#stderr.write(say`svc: notifications are left out: ${why}\n`);
  }

  async close(): Promise<void> {
    this.#end();
  }

  /** Says to the operator why a server ends whose standard input is still open. */
  sayLost(): void {
    this.#stderr.write(say`svc: the client cannot be answered any more, so svc serve ends\n`);
  }

  readonly #end = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.unpipe();
    this.#output.stream.off('error', this.#end).off('drain', this.#drained);
    this.#onTaken();
    this.onclose?.();
  };

  readonly #drained = (): void => {
    this.#untaken = 0;
    this.#onTaken();
  };

  async #read(bytes: Buffer): Promise<void> {
    for (const line of this.#lines.read(bytes)) {
      if (line === 'too-long') this.#refuse(null, invalidRequest, tooLong);
      else await this.#take(line);
      if (this.#untaken > maxUntaken) await new Promise<void>((resolve) => (this.#onTaken = resolve));
      if (this.#isClosed) return;
    }
  }

  async #take(line: Buffer): Promise<void> {
    const read = await readMessage(line);
    if (this.#isClosed) return;
    if (read.kind === 'fault') return this.#refuse(read.id, read.code, read.why);
    const message: unknown = read.message;
    this.#bytesAtHand = line.length;
    if (isJSONRPCRequest(message)) {
      const refused = this.#open.open(message.id, line.length);
      if (refused !== null) return this.#refuse(message.id, refused.isBusy ? busy : invalidRequest, refused.why);
      this.onmessage?.(message);
    } else if (isJSONRPCNotification(message)) {
      const { requestId } = message.method === 'notifications/cancelled' ? (message.params ?? {}) : {};
      if (typeof requestId === 'string' || typeof requestId === 'number') this.#open.settle(requestId);
      this.onmessage?.(message);
    } else if (isJSONRPCResponse(message)) this.onmessage?.(message);
    else this.#refuse(read.id, invalidRequest, 'Invalid Request: neither a request nor a notification nor an answer');
  }

  #refuse(id: RequestId | null, code: number, message: string): void {
    this.#write({ jsonrpc: '2.0', id, error: { code, message } });
  }

  #write(message: unknown): void {
    const shown = jsonLine(message);
    this.#untaken = this.#output.write(shown) ? 0 : this.#untaken + shown.text.length;
  }
}
