/** Puts the chunks of a Chat Completions stream together into one response. */

import type { ContentBlock, DriverResponse, Usage } from '../../driver.ts';
import type { CachedTokens } from '../driver-notes.ts';
import type { ReplySink } from '../driver-ports.ts';
import type { ServerSentEvent } from '../event-source.ts';
import { isError, isSpoken, notAnObject, reportedFailure } from '../reported-error.ts';
import type { ReplyReader } from '../provider-turn.ts';
import { stopReasonOf } from '../stop-reason.ts';
import type { ToolNames } from '../tool-names.ts';
import { countIn, isObject, listIn, objectIn, parseJson, textIn, type JsonObject } from '../../json.ts';
import { ReplyCompanions } from './reply-companions.ts';
import { ToolCallPieces } from './tool-call-pieces.ts';

/** Who reads, and of whom. */
export interface ChatReader {
  readonly names: ToolNames;
  readonly giver: string;
}

/** The chunks of a Chat Completions stream, put together. */
export class ChatReply implements ReplyReader {
  readonly #sink: ReplySink;
  readonly #reader: ChatReader;
  readonly #calls = new ToolCallPieces();
  readonly #companions = new ReplyCompanions();
  #thinking = '';
  #text = '';
  #finishReason = '';
  #isDone = false;
  #pieces = 0;
  /** What has come in pieces: some servers send it once more as a whole message. */
  readonly #streamed = new Set<Part>();
  #usage: Usage | null = null;
  #cached: CachedTokens | null = null;

  constructor(sink: ReplySink, reader: ChatReader) {
    this.#sink = sink;
    this.#reader = reader;
  }

  /** Some servers say that the reply is over, and not why: then it has to be whole. */
  get finished(): boolean {
    return this.#finishReason !== '' || (this.#isDone && (this.#text !== '' || this.#calls.areWhole));
  }

  get pieces(): number {
    return this.#pieces;
  }

  accept({ type, data }: ServerSentEvent): boolean {
    if (data.trim() === '[DONE]') {
      this.#isDone = true;
      return true;
    }
    const chunk = parseJson(data);
    if (type === 'error' || isError(chunk)) throw reportedFailure('an error', chunk ?? data);
    if (!isObject(chunk)) {
      if (isSpoken(type)) throw notAnObject('a chunk', data);
      return false;
    }
    this.#usage = usageIn(chunk) ?? this.#usage;
    this.#cached = cachedIn(chunk) ?? this.#cached;
    // Behind the first choice there are only those that nobody asked for.
    const [choice] = listIn(chunk, 'choices');
    if (isObject(choice)) this.#acceptChoice(choice);
    return false;
  }

  response(): DriverResponse {
    const calls = this.#calls.finish();
    const stopReason = stopReasonOf(this.#finishReason || 'stop', calls.length > 0);
    const content: ContentBlock[] = [];
    const called = stopReason.tag === 'tool-call' ? calls : [];
    const given = called.map(({ id, given }) => ({ id, ...given }));
    const thinking = this.#companions.blockOf(this.#reader.giver, this.#thinking, given);
    if (thinking !== null) content.push({ tag: 'thinking', val: thinking });
    if (this.#text !== '') content.push({ tag: 'text', val: this.#text });
    // A call that will not be dispatched may be cut off, and would stay in the conversation without a result.
    for (const { id, name, input } of called) {
      content.push({ tag: 'tool-call', val: { id, name: this.#reader.names.fromProvider(name), input } });
    }
    return { content, stopReason, usage: this.#usage, continuationId: null };
  }

  cached(): CachedTokens | null {
    return this.#cached;
  }

  #acceptChoice(choice: JsonObject): void {
    if (isError(choice)) throw reportedFailure('an error', choice);
    const delta = objectIn(choice, 'delta');
    if (delta !== null) for (const part of this.#acceptParts(delta, new Set())) this.#streamed.add(part);
    const whole = objectIn(choice, 'message');
    if (whole !== null) this.#acceptParts(whole, this.#streamed);
    this.#finishReason = textIn(choice, 'finish_reason').trim() || this.#finishReason;
  }

  /** Takes what a piece brings except for the parts that came before; returns which parts it had. */
  #acceptParts(piece: JsonObject, before: ReadonlySet<Part>): readonly Part[] {
    if (before.size === 0) this.#companions.add(piece);
    const parts = partsOf(piece);
    const calls = [...listIn(piece, 'tool_calls'), objectIn(piece, 'function_call')].filter(isObject);
    if (!before.has('thinking')) this.#think(parts.thinking);
    if (!before.has('text')) this.#say(parts.text);
    if (!before.has('calls')) for (const call of calls) this.#calls.add(call);
    const found: Readonly<Record<Part, boolean>> = {
      thinking: parts.thinking !== '',
      text: parts.text !== '',
      calls: calls.length > 0,
    };
    const brought = (Object.keys(found) as Part[]).filter((part) => found[part]);
    this.#pieces += brought.length;
    return brought;
  }

  #think(text: string): void {
    this.#thinking += text;
    this.#sink.emitThinking(text);
  }

  #say(text: string): void {
    this.#text += text;
    this.#sink.emitText(text);
  }
}

type Part = 'thinking' | 'text' | 'calls';

/** Thinking and text of a piece; some makers send both as one list of typed parts. */
function partsOf(piece: JsonObject): { readonly thinking: string; readonly text: string } {
  const listed = listIn(piece, 'content').map((part) => (isObject(part) ? part : { text: part }));
  const isThought = (part: JsonObject): boolean => /^(?:thinking|reasoning)/.test(textIn(part, 'type'));
  // Servers that send both spellings send the same text twice.
  const thinking = textIn(piece, 'reasoning_content') || textIn(piece, 'reasoning');
  const text = textIn(piece, 'content') + textIn(piece, 'refusal');
  return {
    thinking: thinking || listed.filter(isThought).map(textOfPart).join(''),
    text:
      text +
      listed
        .filter((part) => !isThought(part))
        .map(textOfPart)
        .join(''),
  };
}

/** The text of a part, which a part of thinking holds as a list of parts again. */
function textOfPart(part: JsonObject): string {
  const inner = listIn(part, 'thinking').filter(isObject);
  return (
    textIn(part, 'text') ||
    textIn(part, 'refusal') ||
    textIn(part, 'thinking') ||
    inner.map((each) => textIn(each, 'text')).join('')
  );
}

function usageIn(chunk: JsonObject): Usage | null {
  const usage = objectIn(chunk, 'usage');
  if (usage === null) return null;
  const inputTokens = countIn(usage, 'prompt_tokens');
  const outputTokens = countIn(usage, 'completion_tokens');
  if (inputTokens === null && outputTokens === null) return null;
  return { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 };
}

/** What was read from a cache is part of the prompt's tokens; some servers name it beside them. */
function cachedIn(chunk: JsonObject): CachedTokens | null {
  const usage = objectIn(chunk, 'usage');
  if (usage === null) return null;
  const read =
    countIn(objectIn(usage, 'prompt_tokens_details') ?? {}, 'cached_tokens') ??
    countIn(usage, 'prompt_cache_hit_tokens');
  return read === null ? null : { read };
}
