/** Carries the Model Context Protocol between standard streams and the `/mcp` of a session that runs already. */

import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

import { HttpDoor } from '@svc/client/http-door.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { asJsonObject, parseJson } from '@svc/protocol/json-object.ts';
import {
  type ApproachedCapsule,
  approachCapsule,
  doorOf,
  type LocatedCapsule,
  tokenChoice,
} from '@svc/record/running/approach-capsule.ts';
import { faultOf } from '@svc/record/running/capsule-faults.ts';
import { locateRunning, whenEnded } from '@svc/record/running/locate-running.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { interruptible } from '../command/stop-signals.ts';
import { McpWire } from './mcp-wire.ts';

/** Limit for its card, and for whether the door is there. */
const answerMs = 10_000;
/** Limit for what is said to the capsule once the program has left. */
const farewellMs = 2000;
const maxReason = 500;
const internalError = -32_603;
/** As at `/mcp`: the same may be asked again. */
const busy = -32_000;
/** Messages of the program on their way to a capsule that is slow to take them, and their bytes together. */
const [maxWaiting, maxWaitingBytes] = [1024, 64 * 1024 * 1024];

/**
 * Until standard input ends: what is still asked is taken back then, and the session runs on. Throws as `svc watch` does where there is no such session,
 * `E-RUN-057` for one without the door, and `E-IO-003` when its process ends.
 */
export async function joinMcp(
  wanted: string,
  options: { readonly sendToken?: boolean },
  context: CommandContext,
): Promise<void> {
  const located = await locateRunning(context, wanted);
  const choice = tokenChoice(context, { ...options, method: 'message/send', timeoutMs: answerMs });
  const capsule = await approachCapsule(located, choice);
  await checkDoor(capsule);
  await interruptible(context, async (signal) => {
    const wire = new McpWire(process.stdin, context);
    const bridge = new Bridge(wire, transportTo(capsule));
    await bridge.carry(signal, (onGone) => watchOver(located, onGone));
  });
}

/** A door that is there asks for what this lacks. */
async function checkDoor(capsule: ApproachedCapsule): Promise<void> {
  const callee = { ...capsule, method: 'GET /mcp', timeoutMs: answerMs };
  const door = new HttpDoor(doorOf(callee));
  try {
    await door.ask({ method: 'GET', target: '/mcp' }, async (answer) => {
      if (answer.status === 404) throw doorClosed(capsule.address);
      if (answer.status !== 400) throw await door.refusal(answer);
    });
  } catch (error) {
    throw error instanceof Diagnostic ? error : faultOf(error, callee);
  }
}

function doorClosed(address: string): Diagnostic {
  return new Diagnostic('E-RUN-057', `the capsule at ${address} does not serve /mcp`, {
    hint: 'doors.serve of its manifest names the doors that it has; svc serve mcp --manifest starts one for this program alone',
  });
}

function transportTo({ address, token }: ApproachedCapsule): StreamableHTTPClientTransport {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new StreamableHTTPClientTransport(new URL(`http://${address}/mcp`), { requestInit: { headers } });
}

/** Nobody knows when a capsule ends that is no session of this user: what is asked of it then is answered with an error. */
function watchOver({ record, address }: LocatedCapsule, onGone: (why: Diagnostic) => void): () => void {
  if (record === null) return () => {};
  return whenEnded(record, () =>
    onGone(
      new Diagnostic('E-IO-003', `the capsule at ${address} is gone: its process has ended`, {
        hint: 'svc ps lists the running capsules',
      }),
    ),
  );
}

interface OpenRequest {
  /** Whether the program keeps to the revisions of 2026 and later: a call is taken back by closing its stream. */
  readonly isModern: boolean;
  readonly leave: AbortController;
}

/** Has the function called that it is given once the capsule is gone, and returns what ends that. */
type WatchOver = (onGone: (why: Diagnostic) => void) => () => void;

/** Hands on each message as it is. */
class Bridge {
  readonly #wire: McpWire;
  readonly #http: StreamableHTTPClientTransport;
  /** What the program has asked and not been answered yet. */
  readonly #open = new Map<RequestId, OpenRequest>();
  /** Messages reach the capsule in the order in which they came. */
  #sent: Promise<void> = Promise.resolve();
  #waiting = 0;
  #waitingBytes = 0;

  constructor(wire: McpWire, http: StreamableHTTPClientTransport) {
    this.#wire = wire;
    this.#http = http;
    wire.onmessage = (message) => this.#fromProgram(message);
    http.onmessage = (message) => this.#toProgram(message);
  }

  /** Runs until standard input ends, or the signal comes. */
  async carry(signal: AbortSignal, watchOver: WatchOver): Promise<void> {
    await this.#http.start();
    let endWatch = (): void => {};
    try {
      await new Promise<void>((resolve, reject) => {
        endWatch = watchOver((why) => {
          for (const id of this.#open.keys()) this.#fail(id, { message: 'the capsule has ended' });
          reject(why);
        });
        this.#wire.onclose = () => {
          if (!process.stdin.readableEnded && !process.stdin.destroyed) this.#wire.sayLost();
          resolve();
        };
        signal.addEventListener('abort', () => resolve(), { once: true });
        if (signal.aborted) resolve();
        this.#wire.start().catch(reject);
      });
    } finally {
      endWatch();
      await this.#farewell();
      this.#wire.onclose = () => {};
      await this.#wire.close();
      process.stdin.destroy();
    }
  }

  #fromProgram(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) this.#ask(message);
    else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') this.#cancelTimer(message);
    else this.#inTurn(async () => await this.#http.send(message));
  }

  /** Whether what the program has sent is more than may wait for the capsule. A slow one must not have it pile up here. */
  get #isFull(): boolean {
    return this.#waiting >= maxWaiting || this.#waitingBytes + this.#wire.bytesAtHand > maxWaitingBytes;
  }

  #ask(message: JSONRPCRequest): void {
    const { id } = message;
    const isModern = typeof message.params?._meta?.[PROTOCOL_VERSION_META_KEY] === 'string';
    const request = { isModern, leave: new AbortController() };
    this.#open.set(id, request);
    if (this.#isFull) {
      this.#fail(id, { code: busy, message: 'the capsule is slow to take what was sent before; ask again' });
      return;
    }
    this.#inTurn(async () => {
      if (request.leave.signal.aborted) return;
      try {
        await this.#http.send(message, {
          requestSignal: request.leave.signal,
          onRequestStreamEnd: () => this.#fail(id, { message: 'the connection to the capsule was lost' }),
        });
      } catch (error) {
        this.#fail(id, { message: reasonOf(error) });
      }
    });
  }

  /** The program waits for no answer any more. */
  #cancelTimer(message: JSONRPCNotification): void {
    const id = message.params?.['requestId'] as RequestId;
    const request = this.#open.get(id);
    this.#open.delete(id);
    if (request?.isModern === true) request.leave.abort();
    else this.#inTurn(async () => await this.#http.send(message));
  }

  #toProgram(message: JSONRPCMessage): void {
    if (isJSONRPCResponse(message) && message.id !== undefined) {
      this.#open.delete(message.id);
      const version = 'result' in message ? asJsonObject(message.result)?.['protocolVersion'] : undefined;
      if (typeof version === 'string') this.#http.setProtocolVersion(version);
    }
    this.#write(message);
  }

  #fail(id: RequestId, { code = internalError, message }: { readonly code?: number; readonly message: string }): void {
    if (!this.#open.delete(id)) return;
    this.#write({ jsonrpc: '2.0', id, error: { code, message } });
  }

  #write(message: JSONRPCMessage): void {
    // A program that has left reads nothing: the end of its standard input says so.
    this.#wire.send(message).catch(() => {});
  }

  /** What cannot be sent is answered where there is somebody who waits; of a notification nobody does, so that it is left out where too much waits. */
  #inTurn(send: () => Promise<void>): void {
    if (this.#isFull) return this.#wire.sayDropped('the capsule is slow to take them');
    const bytes = this.#wire.bytesAtHand;
    this.#waiting += 1;
    this.#waitingBytes += bytes;
    this.#afterAll(async () => {
      try {
        await send();
      } finally {
        this.#waiting -= 1;
        this.#waitingBytes -= bytes;
      }
    });
  }

  #afterAll(send: () => Promise<void>): void {
    this.#sent = this.#sent.then(send).catch(() => {});
  }

  /** Takes back what is still asked, and ends the session of the protocol. */
  async #farewell(): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), farewellMs);
    const isLate = new Promise<void>((resolve) => late.signal.addEventListener('abort', () => resolve()));
    for (const [requestId, { isModern, leave }] of this.#open) {
      if (isModern) leave.abort();
      else this.#cancelTimer({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    }
    this.#afterAll(async () => await this.#http.terminateSession());
    await Promise.race([this.#sent, isLate]);
    clearTimeout(timer);
    await this.#http.close();
  }
}

/** What the capsule said, or why it said nothing. */
function reasonOf(error: unknown): string {
  if (!(error instanceof SdkHttpError)) return 'the capsule cannot be reached';
  const { text } = error.data;
  const body = typeof text === 'string' ? asJsonObject(parseJson(text)) : null;
  const said = asJsonObject(body?.['error'])?.['message'] ?? body?.['message'];
  return typeof said === 'string' ? said.slice(0, maxReason).toWellFormed() : `the capsule answered ${error.status}`;
}
