/** Puts the events of a Messages stream together into one response. */

import type { ContentBlock, DriverResponse, StopReason, Usage } from '@svc/guest/driver.ts';
import type { CachedTokens } from '@svc/guest/provider/driver-notes.ts';
import type { ReplySink } from '@svc/guest/provider/driver-ports.ts';
import type { ServerSentEvent } from '@svc/guest/provider/event-source.ts';
import { oneLine, RequestFailure } from '@svc/guest/request-failure.ts';
import type { ReplyReader } from '@svc/guest/provider/provider-turn.ts';
import type { ToolNames } from '@svc/guest/provider/tool-names.ts';
import { countIn, isObject, objectIn, parseJson, textIn, type JsonObject } from '@svc/guest/json.ts';
import { redactedThinking } from './thinking-signature.ts';

interface PartialBlock {
  readonly type: string;
  readonly start: JsonObject;
  text: string;
  signature: string;
}

/** The events of a Messages stream, put together. */
export class MessagesReply implements ReplyReader {
  readonly #sink: ReplySink;
  readonly #names: ToolNames;
  readonly #blocks = new Map<number, PartialBlock>();
  readonly #usage = new TokenCounts();
  #stopReason = '';

  constructor(sink: ReplySink, names: ToolNames) {
    this.#sink = sink;
    this.#names = names;
  }

  get finished(): boolean {
    return this.#stopReason !== '';
  }

  accept({ type, data }: ServerSentEvent): boolean {
    const event = parseJson(data);
    if (!isObject(event)) {
      throw new RequestFailure(`the provider sent an event that is not a JSON object: ${oneLine(data)}`, {
        transient: true,
      });
    }
    switch (textIn(event, 'type') || type) {
      case 'message_start':
        this.#usage.add(objectIn(objectIn(event, 'message') ?? {}, 'usage'));
        return false;
      case 'content_block_start':
        this.#startBlock(event);
        return false;
      case 'content_block_delta':
        this.#continueBlock(event);
        return false;
      case 'message_delta':
        this.#usage.add(objectIn(event, 'usage'));
        this.#stopReason = textIn(objectIn(event, 'delta') ?? {}, 'stop_reason') || this.#stopReason;
        return false;
      case 'message_stop':
        return true;
      case 'error':
        throw reportedError(event);
      default:
        // The protocol lets new kinds of events appear at any time; `ping` is one of the known ones.
        return false;
    }
  }

  response(): DriverResponse {
    const blocks = [...this.#blocks.entries()].toSorted(([left], [right]) => left - right).map(([, block]) => block);
    const stopReason = stopReasonOf(
      this.#stopReason,
      blocks.some((block) => block.type === 'tool_use'),
    );
    const content = blocks
      .map((block) => this.#finishBlock(block))
      .filter((block) => block !== null)
      // A call that will not be dispatched may be cut off, and would stay in the conversation without a result.
      .filter((block) => block.tag !== 'tool-call' || stopReason.tag === 'tool-call');
    return { content, stopReason, usage: this.#usage.total(), continuationId: null };
  }

  cached(): CachedTokens | null {
    return this.#usage.cached();
  }

  #startBlock(event: JsonObject): void {
    const start = objectIn(event, 'content_block') ?? {};
    const block: PartialBlock = { type: textIn(start, 'type'), start, text: '', signature: textIn(start, 'signature') };
    this.#blocks.set(countIn(event, 'index') ?? this.#blocks.size, block);
    if (block.type === 'text') this.#append(block, textIn(start, 'text'));
    if (block.type === 'thinking') this.#append(block, textIn(start, 'thinking'));
  }

  #continueBlock(event: JsonObject): void {
    const block = this.#blocks.get(countIn(event, 'index') ?? this.#blocks.size - 1);
    const delta = objectIn(event, 'delta') ?? {};
    if (block === undefined) {
      throw new RequestFailure('the provider continued a content block that it had not started', { transient: true });
    }
    const kind = textIn(delta, 'type');
    if (kind === 'text_delta') this.#append(block, textIn(delta, 'text'));
    if (kind === 'thinking_delta') this.#append(block, textIn(delta, 'thinking'));
    if (kind === 'signature_delta') block.signature += textIn(delta, 'signature');
    if (kind === 'input_json_delta') block.text += textIn(delta, 'partial_json');
  }

  #append(block: PartialBlock, text: string): void {
    block.text += text;
    if (block.type === 'text') this.#sink.emitText(text);
    if (block.type === 'thinking') this.#sink.emitThinking(text);
  }

  #finishBlock({ type, start, text, signature }: PartialBlock): ContentBlock | null {
    switch (type) {
      case 'text':
        return text === '' ? null : { tag: 'text', val: text };
      case 'thinking':
        return { tag: 'thinking', val: { text, signature: signature === '' ? null : signature } };
      case 'redacted_thinking':
        return { tag: 'thinking', val: redactedThinking(textIn(start, 'data')) };
      case 'tool_use':
        return {
          tag: 'tool-call',
          val: {
            id: textIn(start, 'id'),
            name: this.#names.fromProvider(textIn(start, 'name')),
            input: text.trim() === '' ? JSON.stringify(objectIn(start, 'input') ?? {}) : text,
          },
        };
      default:
        return null;
    }
  }
}

/** Token counts of a stream are totals so far, spread over its events; tokens read from or put into a cache were input too. */
class TokenCounts {
  readonly #latest = new Map<string, number>();

  add(usage: JsonObject | null): void {
    for (const key of Object.keys(usage ?? {})) {
      const count = countIn(usage ?? {}, key);
      if (count !== null) this.#latest.set(key, count);
    }
  }

  /** Returns null if none was read and none was put there. */
  cached(): CachedTokens | null {
    const read = this.#latest.get('cache_read_input_tokens');
    const write = this.#latest.get('cache_creation_input_tokens');
    if (read === undefined && write === undefined) return null;
    return { ...(read === undefined ? {} : { read }), ...(write === undefined ? {} : { write }) };
  }

  total(): Usage | null {
    const count = (key: string): number => this.#latest.get(key) ?? 0;
    if (!this.#latest.has('input_tokens') && !this.#latest.has('output_tokens')) return null;
    return {
      inputTokens: count('input_tokens') + count('cache_creation_input_tokens') + count('cache_read_input_tokens'),
      outputTokens: count('output_tokens'),
    };
  }
}

const transientErrors: ReadonlySet<string> = new Set([
  'api_error',
  'overloaded_error',
  'rate_limit_error',
  'timeout_error',
]);

function reportedError(event: JsonObject): RequestFailure {
  const error = objectIn(event, 'error') ?? {};
  const type = textIn(error, 'type') || 'an error';
  const message = textIn(error, 'message');
  return new RequestFailure(`provider reported ${type}${message === '' ? '' : `: ${message}`}`, {
    transient: transientErrors.has(type),
  });
}

function stopReasonOf(stopReason: string, called: boolean): StopReason {
  switch (stopReason) {
    case 'end_turn':
    case 'stop_sequence':
      return called ? { tag: 'tool-call' } : { tag: 'end-turn' };
    case 'max_tokens':
      return { tag: 'max-tokens' };
    case 'tool_use':
      return { tag: 'tool-call' };
    case 'refusal':
      return { tag: 'error', val: 'the model refused to answer' };
    default:
      return { tag: 'other', val: oneLine(stopReason) };
  }
}
