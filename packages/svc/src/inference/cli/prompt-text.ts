import type { ContentBlock, Message } from '../driver.ts';

/** The text that goes on with a conversation which the program remembers: what was said since. */
export function continuationPrompt(messages: readonly Message[]): string {
  return messages
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The text that begins a conversation: the one message, or what was said before and then the last. */
export function openingPrompt(messages: readonly Message[]): string {
  const last = messages.at(-1);
  if (last === undefined) return '';
  const before = messages.slice(0, -1);
  if (before.length === 0) return textOf(last);
  return [
    'This conversation began earlier. What was said so far, in order:',
    ...before.map((message) => `[${speakerOf(message)}]\n${textOf(message)}`),
    `[end of what was said so far]\n\nIt goes on with:\n\n${textOf(last)}`,
  ].join('\n\n');
}

function speakerOf(message: Message): string {
  if (message.role !== 'tool') return message.role;
  return `${message.isError ? 'failure' : 'result'} of ${message.toolCallId}`;
}

function textOf({ content }: Message): string {
  return content
    .map(blockText)
    .filter((text) => text !== '')
    .join('\n');
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return '';
    case 'tool_call':
      return `(calls ${block.name} as ${block.id}: ${JSON.stringify(block.input)})`;
  }
}
