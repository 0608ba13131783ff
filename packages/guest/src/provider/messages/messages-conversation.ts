/** Writes a conversation as the Messages API has it, with the places up to which the provider is to keep it in its cache. */

import { argumentsText, textOf, ToolCallPairs } from '../conversation.ts';
import type { ContentBlock, Message } from '../../driver.ts';
import { isOf } from '../companions.ts';
import type { MessageEncoder } from '../kept-conversation.ts';
import type { ToolNames } from '../tool-names.ts';
import { thinkingForProvider } from './thinking-signature.ts';

/** What asks the provider to keep everything up to a block. */
export const cacheMark = { cache_control: { type: 'ephemeral' } } as const;

/** A block as JSON text. */
interface WrittenBlock {
  readonly json: string;
  /** The provider refuses a mark of its cache at thinking. */
  readonly mayBeMarked: boolean;
}

type BlockShape = Pick<MessagesShape, 'names' | 'giver'>;

export interface MessagesShape {
  readonly names: ToolNames;
  readonly giver: string;
  /** How many of the latest turns of the user end in a mark of the cache, 2 at most. */
  readonly marked: number;
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly blocks: WrittenBlock[];
}

/** The latest question, the reply before it and the question before that: marks move with them. */
const maxOpen = 3;

/**
 * Messages as the Messages API has them. Neighbours of one role share one: the results of one turn's calls have to come back together.
 * What `giver` gave with a message goes back with it.
 */
export function mergedTurns({ names, giver, marked }: MessagesShape): MessageEncoder {
  const pairs = new ToolCallPairs((content) => isOf(giver, content));
  const open: Turn[] = [];
  return {
    push: (messages) => {
      for (const message of pairs.pair(messages)) {
        const role = message.tag === 'assistant' ? 'assistant' : 'user';
        const blocks = blocksOf(message, { names, giver });
        const last = open.at(-1);
        if (last?.role === role) last.blocks.push(...blocks);
        else if (blocks.length > 0) open.push({ role, blocks: [...blocks] });
      }
      return open.splice(0, Math.max(0, open.length - maxOpen)).map((turn) => written(turn, false));
    },
    open: () => {
      if (open.length === 0) return null;
      const users = open.filter(({ role }) => role === 'user');
      const ends = new Set(marked === 0 ? [] : users.slice(-marked));
      return open.map((turn) => written(turn, ends.has(turn))).join(',');
    },
  };
}

function written({ role, blocks }: Turn, isMarked: boolean): string {
  const place = isMarked ? blocks.findLastIndex(({ mayBeMarked }) => mayBeMarked) : -1;
  const content = blocks.map(({ json }, index) => (index === place ? withMark(json) : json));
  return `{"role":"${role}","content":[${content.join(',')}]}`;
}

function withMark(block: string): string {
  return `${block.slice(0, -1)},${JSON.stringify(cacheMark).slice(1)}`;
}

function blocksOf(message: Message, shape: BlockShape): readonly WrittenBlock[] {
  if (message.tag !== 'tool') {
    return message.val.map((block) => writtenBlock(block, shape)).filter((block) => block !== null);
  }
  const { toolCallId, isError, content } = message.val;
  const result = {
    type: 'tool_result',
    tool_use_id: toolCallId,
    content: textOf(content),
    ...(isError ? { is_error: true } : {}),
  };
  return [{ json: JSON.stringify(result), mayBeMarked: true }];
}

function writtenBlock(block: ContentBlock, { names, giver }: BlockShape): WrittenBlock | null {
  if (block.tag === 'thinking') {
    const thinking = thinkingForProvider(block.val, giver);
    return thinking === null ? null : { json: JSON.stringify(thinking), mayBeMarked: false };
  }
  if (block.tag === 'tool-call') {
    const { id, name, input } = block.val;
    const call = JSON.stringify({ type: 'tool_use', id, name: names.toProvider(name) });
    // As the model wrote them: a parser would round large numbers.
    const text = argumentsText(input);
    const sent = names.schema(name)?.toProvider(text) ?? text;
    return { json: `${call.slice(0, -1)},"input":${sent}}`, mayBeMarked: true };
  }
  // The server refuses a text that has only white space.
  if (block.val.trim() === '') return null;
  return { json: JSON.stringify({ type: 'text', text: block.val }), mayBeMarked: true };
}
