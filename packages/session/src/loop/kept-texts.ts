/** Keeps the texts of the skills in use, and the rules of the folder, word for word while a conversation is compacted. */

import type { ContentBlock, Message } from '../model/driver.ts';
import { estimateTokens } from '../model/spend-meter.ts';

/** A text that compaction does not shorten. */
export interface KeptText {
  /** What it is, as the line says that stands for it. */
  readonly what: string;
  readonly text: string;
}

/** A conversation in which a line stands for each text. */
export interface ShortenedTexts {
  readonly messages: readonly Message[];
  /** What the texts take of the model's context beyond their lines. */
  readonly tokens: number;
  /** Puts the texts back into what a hook made of it: at their lines, else behind the first message. */
  restored(messages: readonly Message[]): readonly Message[];
}

/** The part of the limit that they may take together. */
const share = 4;

/** The conversation with a line for each of these texts that it has; where they take more than a quarter of `maxTokens`, the earliest stay as they are. */
export function withoutTexts(
  messages: readonly Message[],
  texts: readonly KeptText[],
  maxTokens: number,
): ShortenedTexts {
  let shortened = messages;
  const lines: { readonly line: string; readonly text: string }[] = [];
  let tokens = 0;
  const mark = unusedMark(messages);
  for (const [index, { what, text }] of keptOf(messages, texts, maxTokens).entries()) {
    const line = `[${what}, ${mark}${index + 1}]`;
    shortened = shortened.map((message) => replaced(message, text, line, 'everywhere') ?? message);
    lines.push({ line, text });
    tokens += Math.max(0, estimateTokens(text) - estimateTokens(line));
  }
  const restored = (given: readonly Message[]): readonly Message[] => {
    let back = given;
    const lost: string[] = [];
    for (const { line, text } of lines.toReversed()) {
      const now = atLine(back, line, text);
      if (now === null) lost.unshift(text);
      else back = now;
    }
    return lost.reduce(behindFirst, back);
  };
  return { messages: shortened, tokens, restored };
}

function keptOf(messages: readonly Message[], texts: readonly KeptText[], maxTokens: number): readonly KeptText[] {
  const placed = texts
    .filter(({ text }) => text !== '')
    .map((each) => ({ each, at: messages.findIndex((message) => replaced(message, each.text, '', 'once') !== null) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at)
    .map(({ each }) => each);
  let room = maxTokens / share;
  const kept: KeptText[] = [];
  for (const each of placed.toReversed()) {
    room -= estimateTokens(each.text);
    if (room < 0) break;
    kept.unshift(each);
  }
  return kept;
}

/** The end of the lines, which the conversation does not have yet, whatever was written into it. It looks at each character once. */
function unusedMark(messages: readonly Message[]): string {
  const used = new Set(
    Array.from(JSON.stringify(messages).matchAll(/kept word for word: (\d{1,9})\./g), ([, each]) => each),
  );
  let number = 1;
  while (used.has(String(number))) number += 1;
  return `kept word for word: ${number}.`;
}

function atLine(messages: readonly Message[], line: string, text: string): readonly Message[] | null {
  for (const [index, message] of messages.entries()) {
    const now = replaced(message, line, text, 'once');
    if (now !== null) return messages.with(index, now);
  }
  return null;
}

/** The first message is one of the user. */
function behindFirst([first, ...rest]: readonly Message[], text: string): readonly Message[] {
  return first === undefined ? rest : [{ ...first, content: behind(first.content, text) }, ...rest];
}

function behind(content: readonly ContentBlock[], text: string): readonly ContentBlock[] {
  const last = content.at(-1);
  if (last?.type !== 'text' || last.text === '') return [...content, { type: 'text', text }];
  return [...content.slice(0, -1), { ...last, text: `${last.text}\n\n${text}` }];
}

/**
 * The message with one text in the place of another, which is a result of its own or stands between empty lines of what was said to the model. Returns null if it is
 * not there.
 */
function replaced(message: Message, text: string, other: string, how: 'once' | 'everywhere'): Message | null {
  if (message.role === 'assistant') return null;
  let isThere = false;
  const content = message.content.map((block) => {
    if (block.type !== 'text' || (isThere && how === 'once')) return block;
    const now = message.role === 'tool' ? (block.text === text ? other : null) : between(block.text, text, other);
    if (now === null) return block;
    isThere = true;
    return { ...block, text: now };
  });
  return isThere ? { ...message, content } : null;
}

function between(whole: string, text: string, other: string): string | null {
  for (let at = whole.indexOf(text); at >= 0; at = whole.indexOf(text, at + 1)) {
    const [before, after] = [whole.slice(0, at), whole.slice(at + text.length)];
    if ((before === '' || before.endsWith('\n\n')) && (after === '' || after.startsWith('\n\n')))
      return `${before}${other}${after}`;
  }
  return null;
}
