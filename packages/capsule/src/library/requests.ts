/** What programs that run a capsule say, and what they receive: plain types. */

import type { EventId, NumberedFrame } from '@svc/protocol/frames.ts';

export interface CapsuleRequest {
  /** Path of the manifest, absolute or relative to the current directory. */
  readonly manifest: string;
  /** The first task, as text. Without one it is `task.md` beside the manifest; without that file, the capsule waits for messages at its address. */
  readonly task?: string;
  /** The folder that the capsule works in. When absent, a fresh one named by the session, below `workdir/` beside the manifest. */
  readonly workdir?: string;
  /** Answers in the place of the driver that the manifest names. What else the manifest asks for, such as the key of a provider, is asked for all the same. */
  readonly provider?: ModelProvider;
  /** Hears of the run while it goes on. When it throws, the session is stopped and `runCapsule` rejects with what it threw. */
  readonly onEvent?: (event: CapsuleEvent) => void;
  /** Aborted to stop the session: its tasks are canceled, and `runCapsule` resolves once it has ended. */
  readonly signal?: AbortSignal;
  /** What the manifest and its artifacts may take variables from; the environment of this process when absent. `.env` beside the manifest adds to it. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the folder whose `.svc` holds installed artifacts, keys and caches; the home of the user when absent. */
  readonly home?: string;
  /** The least that programs of the capsule are held by; a machine that has less refuses the launch (`E-CAP-003`). The floors of the manifest hold in any case. */
  readonly containment?: 'advisory' | 'scoped' | 'sealed';
}

/** What the run came to. */
export interface CapsuleOutcome {
  /**
   * `ok`: every task completed. `failed`: one did not, or was canceled. `trapped`: the session could not go on, or a component of its driver or a hook
   * broke off.
   */
  readonly status: 'ok' | 'failed' | 'trapped';
  readonly sessionId: string;
  /** Absolute. What the tasks were to hand over is in its `out/`. */
  readonly workdir: string;
  /** The last 1,000 tasks, in the order in which they ended. */
  readonly tasks: readonly EndedTask[];
  /** Why the session could not go on; null where it could. */
  readonly problem: Problem | null;
}

export interface EndedTask {
  readonly id: string;
  readonly state: 'completed' | 'failed' | 'canceled';
  /** What `out/result.txt` held when it ended: its answer, or why it failed; null when the task wrote none. */
  readonly result: string | null;
  /** Set only when the task failed. */
  readonly error: string | null;
}

/** Something that a person can act on. `svc explain <code>` says what a code means. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly hint: string | undefined;
}

export type CapsuleEvent =
  /** Said once, before the first task: others reach the capsule at this address, as with `@svc/client`. */
  | {
      readonly kind: 'listening';
      readonly url: string;
      readonly sessionId: string;
      /** Absolute. */
      readonly workdir: string;
      /** The capsule's. */
      readonly name: string;
      readonly version: string;
    }
  /** A frame of the event stream, as every client gets it. Its id is a label, neither unique nor consecutive. */
  | { readonly kind: 'frame'; readonly id: EventId; readonly frame: NumberedFrame }
  /** Said before the last frame of the task. `code` is null where the message says all there is. */
  | {
      readonly kind: 'task-failed';
      readonly message: string;
      readonly code: string | null;
      readonly hint: string | null;
    }
  | ({ readonly kind: 'warning' } & Problem);

/** A model, or what stands for one. It is asked once for each turn of a task, and for what hooks ask of the model. */
export interface ModelProvider {
  /** Names it in the trace; `provider` when absent. */
  readonly name?: string;
  /**
   * Resolves with what the model answered. A rejection, or an invalid answer, fails the task. `inference.timeout_secs` of the manifest ends a call
   * that takes too long; each text that is shown begins the time of silence anew.
   */
  infer(request: InferenceRequest): Promise<InferenceResponse>;
}

export interface InferenceRequest {
  /** `inference.model` of the manifest, '' without one. */
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxTokens: number;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Shows a piece of the answer before its end; `content` of the response holds all of it again. */
  readonly onText: (text: string) => void;
  readonly onThinking: (text: string) => void;
}

export interface InferenceResponse {
  readonly content: readonly ContentBlock[];
  /** `tool_call` has the calls of `content` made and the model asked again; `error` fails the task with `error`. */
  readonly stopReason: 'end_turn' | 'max_tokens' | 'tool_call' | 'error';
  readonly error?: string;
  /** Tokens; estimated where it is absent. */
  readonly usage?: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cacheReadTokens?: number;
    readonly cacheWriteTokens?: number;
  };
}

/** One piece of a message. `input` of a call is JSON. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string; readonly signature?: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly input: unknown };

export type Message =
  | { readonly role: 'user' | 'assistant'; readonly content: readonly ContentBlock[] }
  /** What a call came to. */
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
