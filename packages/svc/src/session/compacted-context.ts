import type { ContentBlock, Message } from '../inference/driver.ts';

/**
 * Why a conversation cannot stand in for the one it was made of; null when it can. The model's provider refuses a call without its
 * result and a result without its call, so the two stay or go together.
 */
export function contextProblem(messages: readonly Message[]): string | null {
  const [first] = messages;
  if (first === undefined) return 'the conversation is empty';
  if (first.role !== 'user') return `the conversation begins with a message of the ${first.role}`;
  if (messages.at(-1)?.role === 'assistant') return 'the conversation ends with a message of the assistant';
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.toolCallId))
        return `a result answers ${quoted(message.toolCallId)}, which nothing called`;
      open = without(open, message.toolCallId);
      continue;
    }
    if (open.length > 0) return `the call ${quoted(open[0])} has lost its result`;
    open = message.role === 'assistant' ? message.content.flatMap(callId) : [];
  }
  return open.length === 0 ? null : `the call ${quoted(open[0])} has lost its result`;
}

function callId(block: ContentBlock): string[] {
  return block.type === 'tool_call' ? [block.id] : [];
}

/** Without the first of them: a provider may give several calls one id, or none. */
function without(ids: readonly string[], id: string): string[] {
  return ids.toSpliced(ids.indexOf(id), 1);
}

function quoted(id = ''): string {
  return JSON.stringify(id.length > 60 ? `${id.slice(0, 60)}…` : id);
}
