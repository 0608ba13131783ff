/** The updates of a session for an editor, in the words of the Agent Client Protocol. */

/** The half of `session/update` that this agent says. */
export type AcpUpdate =
  | {
      readonly sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk';
      readonly content: ContentBlock;
      /** Chunks of one message have the same. */
      readonly messageId?: string;
    }
  | ({
      readonly sessionUpdate: 'tool_call';
      readonly title: string;
      readonly kind: ToolKind;
      readonly status: 'pending' | 'in_progress';
      readonly rawInput?: unknown;
      readonly locations?: readonly ToolLocation[];
    } & OfCall)
  | ({
      readonly sessionUpdate: 'tool_call_update';
      readonly status: 'in_progress' | 'completed' | 'failed';
      readonly kind?: ToolKind;
      readonly content?: readonly ToolContent[];
      readonly locations?: readonly ToolLocation[];
    } & OfCall)
  | { readonly sessionUpdate: 'plan'; readonly entries: readonly PlanEntry[] }
  | { readonly sessionUpdate: 'usage_update'; readonly used: number; readonly size: number };

interface OfCall {
  readonly toolCallId: string;
}

/** A part of a message; texts are the only ones that this agent says itself. */
export type ContentBlock = { readonly type: string } & Readonly<Record<string, unknown>>;

export type ToolKind = 'read' | 'edit' | 'search' | 'execute' | 'fetch' | 'other';

export interface ToolLocation {
  /** Absolute. */
  readonly path: string;
}

export type ToolContent =
  | { readonly type: 'content'; readonly content: ContentBlock }
  | {
      readonly type: 'diff';
      readonly path: string;
      /** It is null for a file that is new. */
      readonly oldText: string | null;
      readonly newText: string;
    };

export interface PlanEntry {
  readonly content: string;
  readonly priority: 'medium';
  readonly status: 'pending' | 'completed';
}

/** Why a turn ended well. */
export type StopReason = 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'cancelled';

export function textBlock(text: string): ContentBlock {
  return { type: 'text', text: text.toWellFormed() };
}
