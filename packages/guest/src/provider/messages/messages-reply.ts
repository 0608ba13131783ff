/** Puts the events of a Messages stream together into one response. */

import type { ContentBlock, DriverResponse, ToolCallBlock, Usage } from '../../driver.ts';
import type { CachedTokens } from '../driver-notes.ts';
import type { ReplySink } from '../driver-ports.ts';
import type { ServerSentEvent } from '../event-source.ts';
import { RequestFailure } from '../../request-failure.ts';
import { argumentsText, checkParts, isWhole, withoutRepeats } from '../call-arguments.ts';
import { isError, isSpoken, notAnObject, reportedFailure } from '../reported-error.ts';
import { stopReasonOf } from '../stop-reason.ts';
import type { ReplyReader } from '../provider-turn.ts';
import type { ToolNames } from '../tool-names.ts';
import { countIn, isObject, listIn, objectIn, parseJson, textIn, type JsonObject } from '../../json.ts';
import { redactedThinking } from './thinking-signature.ts';

interface PartialBlock {
  readonly index: number;
  readonly type: string;
  readonly start: JsonObject;
  text: string;
  signature: string;
}

/** The events of a Messages stream, put together. */
export class MessagesReply implements ReplyReader {
  readonly #sink: ReplySink;
  readonly #names: ToolNames;
  /** In the order in which they began: some servers give each the same index. */
  readonly #blocks: PartialBlock[] = [];
  readonly #usage = new TokenCounts();
  #stopReason = '';
  #isDone = false;
  #pieces = 0;

  constructor(sink: ReplySink, names: ToolNames) {
    this.#sink = sink;
    this.#names = names;
  }

  /** Some servers say that the reply is over, and not why: then it has to be whole. */
  get finished(): boolean {
    return this.#stopReason !== '' || (this.#isDone && this.#isWhole());
  }

  get pieces(): number {
    return this.#pieces;
  }

  accept({ type, data }: ServerSentEvent): boolean {
    // Servers that translate from another API end as that one does.
    if (data.trim() === '[DONE]') return this.#end();
    const event = parseJson(data);
    if (type === 'error' || isError(event)) throw reportedError(event ?? data);
    if (!isObject(event)) {
      if (isSpoken(type)) throw notAnObject('an event', data);
      return false;
    }
    switch (textIn(event, 'type') || type) {
      case 'message_start':
        this.#usage.add(objectIn(objectIn(event, 'message') ?? {}, 'usage'));
        return false;
      case 'content_block_start':
        this.#startBlock(objectIn(event, 'content_block') ?? {}, countIn(event, 'index'));
        return false;
      case 'content_block_delta':
        this.#continueBlock(event);
        return false;
      case 'message_delta':
        this.#usage.add(objectIn(event, 'usage'));
        this.#stopReason = textIn(objectIn(event, 'delta') ?? {}, 'stop_reason').trim() || this.#stopReason;
        return false;
      case 'message':
        return this.#acceptWhole(event);
      case 'message_stop':
        return this.#end();
      default:
        // The protocol lets new kinds of events appear at any time; `ping` is one of the known ones.
        return false;
    }
  }

  response(): DriverResponse {
    const content = this.#blocks.map((block) => this.#finishBlock(block)).filter((block) => block !== null);
    const calls = withoutRepeats(content.flatMap((block) => (block.tag === 'tool-call' ? [block.val] : [])));
    const stopReason = stopReasonOf(this.#stopReason || 'end_turn', calls.length > 0);
    // A call that will not be dispatched may be cut off, and would stay in the conversation without a result.
    const kept = new Set<ToolCallBlock>(stopReason.tag === 'tool-call' ? calls : []);
    return {
      content: content.filter((block) => block.tag !== 'tool-call' || kept.has(block.val)),
      stopReason,
      usage: this.#usage.total(),
      continuationId: null,
    };
  }

  cached(): CachedTokens | null {
    return this.#usage.cached();
  }

  #end(): true {
    this.#isDone = true;
    return true;
  }

  /** Something was said, and no call was cut off. */
  #isWhole(): boolean {
    const isCut = ({ type, text }: PartialBlock): boolean => type === 'tool_use' && !isWhole(argumentsText(text));
    const isSaid = ({ type, text }: PartialBlock): boolean => type === 'tool_use' || (type === 'text' && text !== '');
    return this.#blocks.some(isSaid) && !this.#blocks.some(isCut);
  }

  /** The answer of a server that does not stream. */
  #acceptWhole(message: JsonObject): boolean {
    for (const block of listIn(message, 'content').filter(isObject)) this.#startBlock(block, null);
    this.#usage.add(objectIn(message, 'usage'));
    this.#stopReason = textIn(message, 'stop_reason');
    return this.#end();
  }

  #startBlock(start: JsonObject, index: number | null): void {
    const type = textIn(start, 'type');
    const block = {
      index: index ?? this.#blocks.length,
      type,
      start: { id: start['id'], name: start['name'], input: start['input'], data: start['data'] },
      text: '',
      signature: textIn(start, 'signature'),
    };
    this.#blocks.push(block);
    checkParts(this.#blocks.length, 'blocks');
    this.#pieces += 1;
    if (type === 'text') this.#append(block, textIn(start, 'text'));
    if (type === 'thinking') this.#append(block, textIn(start, 'thinking'));
  }

  #continueBlock(event: JsonObject): void {
    this.#pieces += 1;
    const index = countIn(event, 'index');
    const block = index === null ? this.#blocks.at(-1) : this.#blocks.findLast((each) => each.index === index);
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
            input: text.trim() === '' ? JSON.stringify(objectIn(start, 'input') ?? {}) : argumentsText(text),
          },
        };
      default:
        return null;
    }
  }
}

const counted = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

/** Token counts of a stream are totals so far, spread over its events; tokens read from or put into a cache were input too. */
class TokenCounts {
  readonly #latest = new Map<string, number>();

  add(usage: JsonObject | null): void {
    for (const key of counted) {
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

/** Named by its kind where it has one. */
function reportedError(said: unknown): RequestFailure {
  const error = isObject(said) ? (objectIn(said, 'error') ?? {}) : {};
  return reportedFailure(textIn(error, 'type') || 'an error', said);
}
