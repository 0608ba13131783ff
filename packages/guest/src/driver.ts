/** The types of `svc:driver/types@0.1.0` as a guest sees them. An absent option is `null`. */

export interface ThinkingBlock {
  readonly text: string;
  readonly signature: string | null;
}

export interface ToolCallBlock {
  readonly id: string;
  readonly name: string;
  /** The arguments as JSON text; text that is not JSON is what the model wrote instead. */
  readonly input: string;
}

export type ContentBlock =
  | { readonly tag: 'text'; readonly val: string }
  | { readonly tag: 'thinking'; readonly val: ThinkingBlock }
  | { readonly tag: 'tool-call'; readonly val: ToolCallBlock };

export interface ToolResult {
  readonly toolCallId: string;
  readonly isError: boolean;
  readonly content: readonly ContentBlock[];
}

export type Message =
  | { readonly tag: 'user'; readonly val: readonly ContentBlock[] }
  | { readonly tag: 'assistant'; readonly val: readonly ContentBlock[] }
  | { readonly tag: 'tool'; readonly val: ToolResult };

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema as text. */
  readonly inputSchema: string;
}

export interface DriverRequest {
  readonly model: string;
  readonly endpoint: string;
  /** Stands for the provider key in a request header; the host puts the key in. */
  readonly apiKey: string | null;
  readonly config: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxTokens: number;
  readonly continuationId: string | null;
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export type StopReason =
  | { readonly tag: 'end-turn' }
  | { readonly tag: 'max-tokens' }
  | { readonly tag: 'tool-call' }
  | { readonly tag: 'error'; readonly val: string }
  | { readonly tag: 'other'; readonly val: string };

export interface DriverResponse {
  readonly content: readonly ContentBlock[];
  readonly stopReason: StopReason;
  readonly usage: Usage | null;
  readonly continuationId: string | null;
}

/** Where the pieces of a reply go while it is being made. */
export interface ReplySink {
  emitText(text: string): void;
  emitThinking(text: string): void;
}

/** What a driver needs of the world around it. All of it blocks: a guest has one thread and no event loop. */
export interface DriverPorts extends ReplySink {
  /** Throws `ProviderFailure` when no response can be had. */
  post(request: PostRequest): PostResponse;
  sleep(milliseconds: number): void;
  /** Unix milliseconds. */
  now(): number;
}

export interface PostRequest {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Text, which goes out as UTF-8, or parts that follow each other. */
  readonly body: string | readonly (string | Uint8Array)[];
}

export interface PostResponse {
  readonly status: number;
  /** The first value of a header; `name` is lower case. */
  header(name: string): string | null;
  /**
   * The body as it arrives, to be iterated at most once. Throws `ProviderFailure` when the connection breaks.
   */
  pieces(): Iterable<string>;
  /** Closes the connection. Idempotent. */
  close(): void;
}
