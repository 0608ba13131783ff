/** One piece of a message. `input` of a tool call is the parsed JSON the model gave. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string; readonly signature?: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly input: unknown };

export type Message =
  | { readonly role: 'user' | 'assistant'; readonly content: readonly ContentBlock[] }
  | {
      readonly role: 'tool';
      readonly content: readonly ContentBlock[];
      readonly toolCallId: string;
      readonly isError: boolean;
    };

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface InferenceRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxTokens: number;
  readonly continuationId?: string;
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A response as the driver gave it. `stopReason` is kept as text: an unknown one fails the task (contracts §11). */
export interface InferenceResponse {
  readonly content: readonly ContentBlock[];
  readonly stopReason: string;
  readonly error?: string;
  readonly usage?: Usage;
  readonly continuationId?: string;
}

/** What a driver call came to. */
export type DriverOutcome = { readonly kind: 'response'; readonly response: InferenceResponse } | DriverFailure;

/**
 * Why there is no response to go on with. It ends the task as it is: the state table of tasks takes it (session/task-state.ts).
 * Only `malformed` does so without a final frame (D1 "Task states" 2).
 */
export type DriverFailure =
  /** The driver ran and failed: a provider error, an exit before the response, a wrong one; `trapped` when its component broke off. */
  | { readonly kind: 'failed'; readonly error: string; readonly trapped?: boolean }
  /** The driver could not be called at all: it cannot be loaded or started. */
  | { readonly kind: 'unavailable'; readonly error: string }
  /** A line of a process driver that is not JSON. */
  | { readonly kind: 'malformed'; readonly error: string };

/** What a call of the model came to, as the model is to read it. */
export interface ToolAnswer {
  readonly content: string;
  readonly isError: boolean;
}

export interface InferenceCall {
  readonly signal: AbortSignal;
  readonly onText: (text: string) => void;
  readonly onThinking: (text: string) => void;
  /** Told of each sign of life of the model of which nothing is shown. */
  readonly onSign?: () => void;
  /** Told that the driver asks the model again within the call, and why, as a clause. */
  readonly onRetry?: (reason: string) => void;
  /**
   * Carries out a call in the middle of the inference, for a driver whose program runs a loop of its own: judged, shown and
   * traced like every other. Rejects with the signal's reason on cancel.
   */
  readonly callTool: (call: Extract<ContentBlock, { type: 'tool_call' }>) => Promise<ToolAnswer>;
}

/**
 * The model, as the agent loop sees it. `openTask` is called once per task and attempt, `infer` once per turn, one at a time.
 * An aborted signal makes `infer` settle soon; what it settles to is then ignored.
 */
export interface Driver {
  /** Artifact or command name, for the `driver:` line (D1 "Human-readable run output"). */
  readonly label: string;
  openTask(): DriverTask;
  close(): Promise<void>;
}

export interface DriverTask {
  infer(request: InferenceRequest, call: InferenceCall): Promise<DriverOutcome>;
  /** Ends what the task holds open (a process driver's child). Idempotent. */
  close(): Promise<void>;
}
