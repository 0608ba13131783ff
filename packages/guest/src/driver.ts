/** What a driver is asked and what it answers: the types of `svc:driver/types@0.1.0` as a component sees them. An absent option is `null`. */

import { wellFormed, withWellFormedText } from './text.ts';

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
  /** `inference.endpoint`, without a trailing slash; empty when the manifest names none. */
  readonly endpoint: string;
  /** Stands for the provider key in a request header; the host puts the key in. */
  readonly apiKey: string | null;
  /** `inference.driver.config` as JSON text, `{}` when absent. */
  readonly config: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxTokens: number;
  /** What the response before it in this conversation gave. */
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

/** `svc:driver/inference` as a component exports it: what `infer` throws becomes the error of the call, by its message. */
export function driverExport(infer: (request: DriverRequest) => DriverResponse): {
  readonly infer: (request: DriverRequest) => DriverResponse;
} {
  return {
    infer: (request) => {
      try {
        return withWellFormedText(infer(request));
      } catch (error) {
        // Whatever went wrong has to reach the host as text that the host can take.
        throw error instanceof Error ? new Error(wellFormed(error.message), { cause: error }) : error;
      }
    },
  };
}
