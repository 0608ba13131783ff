import type { DriverRequest, DriverResponse } from '@svc/guest/driver.ts';
import type { DriverNote } from '@svc/guest/provider/driver-notes.ts';
import type { DriverCode, DriverPorts, PostRequest, ProviderAnswer } from '@svc/guest/provider/driver-ports.ts';
import { runBlocking, runWaiting } from '@svc/guest/provider/steps.ts';
import { RequestFailure } from '@svc/guest/request-failure.ts';
import { openDriver as openMessagesDriver } from '@svc/guest/provider/messages/messages-driver.ts';
import { openDriver as openChatDriver } from '@svc/guest/provider/chat/chat-driver.ts';

/** What the next POST comes to: a response, or the failure to get one. */
export type ScriptedPost = RequestFailure | ScriptedResponse;

export interface ScriptedResponse {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as it arrives; a failure breaks the connection there. */
  readonly pieces: readonly (string | RequestFailure)[];
  /** How long each piece is waited for; 0 when absent. */
  readonly msBetween?: number;
  /** Sent again and again behind the body, one a second, so that the stream never ends. */
  readonly heldBy?: string;
}

/** Ports of a driver that play responses in order and write down everything the driver does. */
export class ScriptedPorts implements DriverPorts {
  readonly requests: PostRequest[] = [];
  readonly slept: number[] = [];
  readonly notes: DriverNote[] = [];
  /** Emitted pieces in order, thinking marked by `~`. */
  readonly emitted: string[] = [];
  /** Connections that were opened and not closed. */
  open = 0;
  #waitedMs = 0;
  readonly #script: ScriptedPost[];

  constructor(...script: readonly ScriptedPost[]) {
    this.#script = [...script];
  }

  post(request: PostRequest): ProviderAnswer {
    this.requests.push(request);
    const next = this.#script.shift();
    if (next === undefined) throw new Error('the script has no response left');
    if (next instanceof RequestFailure) throw next;
    this.open += 1;
    let closed = false;
    let patience: number | null = null;
    const pieces = this.#arriving(next, () => patience);
    return {
      status: next.status ?? 200,
      header: (name) => ({ 'content-type': 'text/event-stream', ...next.headers })[name] ?? null,
      read: (patienceMs) => {
        patience = patienceMs;
        const piece = pieces.next();
        return piece.done === true ? null : piece.value;
      },
      close: () => {
        if (!closed) this.open -= 1;
        closed = true;
      },
    };
  }

  *#arriving(
    { pieces, heldBy, msBetween = 0 }: ScriptedResponse,
    patienceMs: () => number | null,
  ): Generator<string, void, void> {
    for (const piece of pieces) {
      const left = patienceMs() ?? Infinity;
      this.#waitedMs += Math.min(left, msBetween);
      if (left === 0 || left < msBetween) return;
      if (piece instanceof RequestFailure) throw piece;
      yield piece;
    }
    if (heldBy === undefined) return;
    for (let left = patienceMs(); left !== 0; left = patienceMs()) {
      if (left === null) throw new Error('the driver waits for ever');
      this.#waitedMs += Math.min(left, 1000);
      if (left >= 1000) yield heldBy;
    }
  }

  note(note: DriverNote): void {
    this.notes.push(note);
  }

  sleep(milliseconds: number): void {
    this.slept.push(milliseconds);
  }

  now(): number {
    return Date.UTC(2026, 0, 1) + this.#waitedMs;
  }

  emitText(text: string): void {
    this.emitted.push(text);
  }

  emitThinking(text: string): void {
    this.emitted.push(`~${text}`);
  }

  /** The body of the request of this number, counted from 1. */
  body(number = 1): Readonly<Record<string, unknown>> {
    return JSON.parse(this.bodyText(number)) as Readonly<Record<string, unknown>>;
  }

  bodyText(number = 1): string {
    const body = this.requests[number - 1]?.body ?? '';
    const parts = typeof body === 'string' ? [body] : body;
    return parts.map((part) => (typeof part === 'string' ? part : new TextDecoder().decode(part))).join('');
  }

  header(name: string): string | undefined {
    return this.requests[0]?.headers.find(([given]) => given === name)?.[1];
  }
}

/** A driver as a component runs it. */
export function blocking(driver: DriverCode): (request: DriverRequest, ports: ScriptedPorts) => DriverResponse {
  return (request, ports) => runBlocking(driver(request, ports));
}

/** A driver as a process runs it that goes on meanwhile. */
export function waiting(driver: DriverCode): (request: DriverRequest, ports: ScriptedPorts) => Promise<DriverResponse> {
  return async (request, ports) =>
    await runWaiting(
      driver(request, {
        post: async (given) => {
          const answer = ports.post(given);
          return { ...answer, read: async (patienceMs) => answer.read(patienceMs) };
        },
        sleep: async (milliseconds) => ports.sleep(milliseconds),
        note: (note) => ports.note(note),
        now: () => ports.now(),
        emitText: (text) => ports.emitText(text),
        emitThinking: (text) => ports.emitThinking(text),
      }),
    );
}

export const askChatCompletions = blocking(openChatDriver());
export const askMessages = blocking(openMessagesDriver());

/** Server-sent events of JSON values, a piece for each. */
export function events(...values: readonly unknown[]): readonly string[] {
  return values.map((value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`);
}

export function driverRequest(changes: Partial<DriverRequest> = {}): DriverRequest {
  return {
    model: 'm-1',
    endpoint: 'http://127.0.0.1:9',
    apiKey: null,
    config: '{}',
    system: '',
    messages: [{ tag: 'user', val: [{ tag: 'text', val: 'hello' }] }],
    tools: [],
    maxTokens: 512,
    continuationId: null,
    ...changes,
  };
}
