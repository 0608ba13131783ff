/** What a hook is told and what it may answer: the types of `svc:hook/types@0.1.0` as a component sees them. An absent option is `null`. */

import type { ContentBlock, Message, ToolDefinition, Usage } from './driver.ts';

export interface Session {
  readonly sessionId: string;
  readonly capsule: string;
  readonly version: string;
}

export interface Task {
  readonly session: Session;
  readonly taskId: string;
  readonly contextId: string | null;
  readonly origin: 'user' | 'message' | 'peer' | 'completion';
  readonly trusted: boolean;
  readonly attempt: number;
}

export interface StageEvent {
  readonly session: Session;
  readonly tools: readonly ToolDefinition[];
}

export interface InferenceEvent {
  readonly task: Task;
  readonly turn: number;
  readonly model: string;
  readonly content: readonly ContentBlock[];
  readonly stopReason: string;
  readonly usage: Usage | null;
}

export interface ToolCallEvent {
  readonly task: Task;
  readonly turn: number;
  readonly tool: string;
  readonly callId: string | null;
  readonly arguments: string;
}

export interface ShellEvent {
  readonly task: Task;
  readonly turn: number;
  readonly command: string;
  readonly args: readonly string[];
}

export interface CompactionEvent {
  readonly task: Task;
  readonly messages: readonly Message[];
  readonly estimatedTokens: number;
  readonly maxTokens: number;
}

export interface TaskEndEvent {
  readonly task: Task;
  readonly state: 'completed' | 'failed' | 'canceled';
  readonly text: string | null;
}

type Observed = { readonly tag: 'observed' };
interface WriteManifests {
  readonly tag: 'write-manifests';
  readonly val: readonly { readonly name: string; readonly content: string }[];
}
interface Artifact {
  readonly tag: 'artifact';
  readonly val: { readonly content: string };
}
type TaskEndOutcome = { readonly tag: 'accepted' } | { readonly tag: 'reopen-task'; readonly val: string };
type Gate = { readonly tag: 'proceed' } | { readonly tag: 'deny'; readonly val: string };
export type CompactionOutcome =
  | { readonly tag: 'unchanged' }
  | { readonly tag: 'replace-context'; readonly val: readonly Message[] };

/** `svc:hook/lifecycle`. What a function throws is the hook's own failure, by its message. */
export interface Lifecycle {
  readonly onStage: (event: StageEvent) => Observed | WriteManifests;
  readonly onSessionStart: (session: Session) => void;
  readonly onTaskStart: (event: { readonly task: Task; readonly text: string }) => void;
  readonly onInference: (event: InferenceEvent) => Observed | Artifact;
  readonly onToolCall: (event: ToolCallEvent) => Gate;
  readonly onShell: (event: ShellEvent) => Gate;
  readonly onCompaction: (event: CompactionEvent) => CompactionOutcome;
  readonly onTaskEnd: (event: TaskEndEvent) => TaskEndOutcome;
  readonly onSessionEnd: (event: { readonly session: Session; readonly status: 'ok' | 'failed' | 'trapped' }) => void;
}

/** A hook that observes everything and changes nothing, to be spread below what a hook does. */
export const observer: Lifecycle = {
  onStage: () => ({ tag: 'observed' }),
  onSessionStart: () => {},
  onTaskStart: () => {},
  onInference: () => ({ tag: 'observed' }),
  onToolCall: () => ({ tag: 'proceed' }),
  onShell: () => ({ tag: 'proceed' }),
  onCompaction: () => ({ tag: 'unchanged' }),
  onTaskEnd: () => ({ tag: 'accepted' }),
  onSessionEnd: () => {},
};
