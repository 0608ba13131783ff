/** Writes the events of one response to one client of `POST /v1/responses`. */

import type { DoorStream } from '../core/door-stream.ts';
import type { Followed, SpeechListener } from './follow-speech.ts';
import { answerOf, itemId, messageItem, type ResponseFacts, responseObject, textPart } from './objects.ts';

interface StreamedResponse extends ResponseFacts {
  /** Called once with the answer that the client has received. */
  readonly onAnswered: (text: string) => void;
}

/** A message of the response that is being written. */
interface Item {
  readonly id: string;
  readonly index: number;
  text: string;
}

/**
 * Each turn of the model that speaks is a message of its own, and so is a question; the response that the stream ends with holds the last one
 * alone, as it does for who asks later.
 */
export class ResponseStream implements SpeechListener {
  readonly #stream: DoorStream;
  readonly #followed: Followed;
  readonly #facts: StreamedResponse;
  #sequence = 0;
  #items = 0;
  #item: Item | null = null;

  constructor(stream: DoorStream, followed: Followed, facts: StreamedResponse) {
    this.#stream = stream;
    this.#followed = followed;
    this.#facts = facts;
    stream.begin(this.#event('response.created', { response: this.#response() }));
  }

  works(): void {
    this.#write(this.#event('response.in_progress', { response: this.#response() }));
  }

  says(text: string, isNew: boolean): void {
    const ended = isNew ? this.#endItem() : [];
    const begun = this.#item === null ? this.#beginItem() : [];
    const item = this.#item;
    if (item === null) throw new Error('an item has just begun');
    item.text += text;
    const delta = this.#event('response.output_text.delta', { ...placeOf(item), delta: text, logprobs: [] });
    this.#write(...ended, ...begun, delta);
  }

  rests(): void {
    const answer = answerOf(this.#followed.record);
    const isAnswered = answer !== null;
    if (isAnswered) this.#facts.onAnswered(answer);
    const begun = isAnswered && this.#item === null ? this.#beginItem() : [];
    const answerId = this.#item?.id;
    const ended = this.#endItem(isAnswered ? 'completed' : 'incomplete');
    const type = isAnswered ? 'response.completed' : 'response.failed';
    this.#write(...begun, ...ended, this.#event(type, { response: this.#response(answerId) }));
    this.#stream.end();
  }

  #beginItem(): readonly string[] {
    const { record } = this.#followed;
    const index = this.#items;
    this.#items += 1;
    const item = { id: `${itemId(record)}${index === 0 ? '' : `_${index}`}`, index, text: '' };
    this.#item = item;
    const added = { output_index: index, item: { ...messageItem(item.id, '', 'in_progress'), content: [] } };
    return [
      this.#event('response.output_item.added', added),
      this.#event('response.content_part.added', { ...placeOf(item), part: textPart('') }),
    ];
  }

  #endItem(status: 'completed' | 'incomplete' = 'completed'): readonly string[] {
    const item = this.#item;
    if (item === null) return [];
    this.#item = null;
    const { text } = item;
    const done = { output_index: item.index, item: messageItem(item.id, text, status) };
    return [
      this.#event('response.output_text.done', { ...placeOf(item), text, logprobs: [] }),
      this.#event('response.content_part.done', { ...placeOf(item), part: textPart(text) }),
      this.#event('response.output_item.done', done),
    ];
  }

  #response(answerId?: string): Readonly<Record<string, unknown>> {
    return responseObject(this.#followed.record, this.#facts, answerId);
  }

  #event(type: string, more: Readonly<Record<string, unknown>>): string {
    const data = JSON.stringify({ type, sequence_number: this.#sequence, ...more });
    this.#sequence += 1;
    return `event: ${type}\ndata: ${data}\n\n`;
  }

  #write(...events: readonly string[]): void {
    this.#stream.writeOwn(events);
  }
}

function placeOf({ id, index }: Item): Readonly<Record<string, unknown>> {
  return { item_id: id, output_index: index, content_index: 0 };
}
