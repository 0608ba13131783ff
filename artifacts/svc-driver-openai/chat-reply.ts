/** Puts the chunks of a Chat Completions stream together into one response. */

import type { ContentBlock, DriverResponse, StopReason, Usage } from '@svc/guest/driver.ts';
import type { CachedTokens } from '@svc/guest/provider/driver-notes.ts';
import type { ReplySink } from '@svc/guest/provider/driver-ports.ts';
import type { ServerSentEvent } from '@svc/guest/provider/event-source.ts';
import { oneLine, RequestFailure } from '@svc/guest/request-failure.ts';
import { messageIn, type ReplyReader } from '@svc/guest/provider/provider-turn.ts';
import type { ToolNames } from '@svc/guest/provider/tool-names.ts';
import { countIn, isObject, listIn, objectIn, parseJson, textIn, type JsonObject } from '@svc/guest/json.ts';
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
  #usage: Usage | null = null;
  #cached: CachedTokens | null = null;

  constructor(sink: ReplySink, reader: ChatReader) {
    this.#sink = sink;
    this.#reader = reader;
  }

  get finished(): boolean {
    return this.#finishReason !== '';
  }

  accept({ data }: ServerSentEvent): boolean {
    if (data.trim() === '[DONE]') return true;
    const chunk = parseJson(data);
    if (!isObject(chunk)) {
      throw new RequestFailure(`the provider sent a chunk that is not a JSON object: ${oneLine(data)}`, {
        transient: true,
      });
    }
    if (chunk['error'] !== undefined && chunk['error'] !== null) {
      throw new RequestFailure(`provider reported an error: ${messageIn(chunk)}`, { transient: isTransient(chunk) });
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
    const stopReason = stopReasonOf(this.#finishReason, calls.length > 0);
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
    const delta = objectIn(choice, 'delta') ?? {};
    this.#companions.add(delta);
    // Servers that send both spellings send the same text twice.
    const thinking = textIn(delta, 'reasoning_content') || textIn(delta, 'reasoning');
    this.#thinking += thinking;
    this.#sink.emitThinking(thinking);
    const text = textIn(delta, 'content') + textIn(delta, 'refusal');
    this.#text += text;
    this.#sink.emitText(text);
    for (const entry of listIn(delta, 'tool_calls')) {
      if (isObject(entry)) this.#calls.add(entry);
    }
    const legacyCall = objectIn(delta, 'function_call');
    if (legacyCall !== null) this.#calls.add(legacyCall);
    this.#finishReason = textIn(choice, 'finish_reason') || this.#finishReason;
  }
}

function stopReasonOf(finishReason: string, called: boolean): StopReason {
  switch (finishReason) {
    case 'stop':
      // Some servers say `stop` although they called tools.
      return called ? { tag: 'tool-call' } : { tag: 'end-turn' };
    case 'length':
      return { tag: 'max-tokens' };
    case 'tool_calls':
    case 'function_call':
      return { tag: 'tool-call' };
    case 'content_filter':
      return { tag: 'error', val: "the provider's content filter stopped the reply" };
    default:
      return { tag: 'other', val: oneLine(finishReason) };
  }
}

/** Servers put the HTTP status that came too late for a response head into the error itself. */
function isTransient(chunk: JsonObject): boolean {
  const code = countIn(objectIn(chunk, 'error') ?? chunk, 'code') ?? 500;
  return code === 429 || code >= 500;
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
