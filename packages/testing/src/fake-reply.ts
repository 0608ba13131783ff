/** Writes the replies of scripted models as the streams of the two providers. */

/** One tool call of a scripted reply. */
export interface FakeToolCall {
  /** Left out of the stream when null, as some servers do. */
  readonly id: string | null;
  readonly name: string;
  /** The arguments as JSON text: whole, or the pieces they arrive in. */
  readonly arguments: string | readonly string[];
}

/** A reply that is streamed. Every part may be left out. */
export interface FakeStream {
  readonly kind: 'stream';
  readonly thinking?: readonly string[];
  /** Signs the thinking (Anthropic). */
  readonly signature?: string;
  readonly text?: readonly string[];
  readonly toolCalls?: readonly FakeToolCall[];
  /** In the words of the protocol: `stop`, `tool_calls`, `end_turn`, … Absent: what fits the reply. Null sends none. */
  readonly finish?: string | null;
  /** Null: no token counts are sent. Absent: 10 and 5. */
  readonly usage?: { readonly input: number; readonly output: number } | null;
  /** Destroys the connection after so many events. */
  readonly breakAfter?: number;
  /** Awaited before each event, counted from 0: holds the stream back until a test lets it go on. */
  readonly pace?: (event: number) => Promise<void>;
}

/** A response that is no stream: an error, or something a provider should never send. */
export interface FakeRefusal {
  readonly kind: 'refuse';
  readonly status: number;
  /** The message inside the protocol's own error body. */
  readonly message?: string;
  /** Sent in place of that body. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Bytes sent as an event stream exactly as they are, a write for each piece. */
export interface FakeRaw {
  readonly kind: 'raw';
  readonly pieces: readonly (string | Uint8Array)[];
}

/** The connection is closed before a response. */
export interface FakeDrop {
  readonly kind: 'drop';
}

export type FakeReply = FakeStream | FakeRefusal | FakeRaw | FakeDrop;

/** A reply of text chunks that ends by itself. */
export function says(...text: readonly string[]): FakeStream {
  return { kind: 'stream', text };
}

/** A reply that calls one tool. */
export function calls(name: string, input: unknown, id = 'call_a1'): FakeStream {
  return { kind: 'stream', toolCalls: [{ id, name, arguments: JSON.stringify(input) }] };
}

export function refuses(status: number, message: string, headers: Readonly<Record<string, string>> = {}): FakeRefusal {
  return { kind: 'refuse', status, message, headers };
}

export function argumentPieces(call: FakeToolCall): readonly string[] {
  return typeof call.arguments === 'string' ? [call.arguments] : call.arguments;
}
