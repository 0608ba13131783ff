/** Writes the chunks of one answer to one client of `POST /v1/chat/completions`. */

import type { DoorStream } from '../core/door-stream.ts';
import { OpenAiFault } from './errors.ts';
import type { Followed, SpeechListener } from './follow-speech.ts';
import { chatChunk, reasonOf, usageChunk } from './objects.ts';

interface ChatStreamOptions {
  readonly model: string;
  readonly includeUsage: boolean;
  /** Called once with all that the client has received. */
  readonly onAnswered: (text: string) => void;
}

/** Between what two turns of the model say, which is one text to a client. */
const betweenTurns = '\n\n';

export class ChatStream implements SpeechListener {
  readonly #stream: DoorStream;
  readonly #followed: Followed;
  readonly #options: ChatStreamOptions;
  #said = '';

  constructor(stream: DoorStream, followed: Followed, options: ChatStreamOptions) {
    this.#stream = stream;
    this.#followed = followed;
    this.#options = options;
    stream.begin(this.#chunk({ role: 'assistant', content: '', refusal: null }));
  }

  works(): void {}

  says(text: string, isNew: boolean): void {
    const delta = isNew && this.#said !== '' ? betweenTurns + text : text;
    this.#said += delta;
    this.#write(this.#chunk({ content: delta }));
  }

  rests(): void {
    const { record } = this.#followed;
    const { model, includeUsage, onAnswered } = this.#options;
    if (record.state === 'completed' || record.state === 'input-required') {
      onAnswered(this.#said);
      const usage = includeUsage ? [event(usageChunk(record, model))] : [];
      this.#write(event(chatChunk(record, model, {}, 'stop')), ...usage, 'data: [DONE]\n\n');
    } else {
      this.#write(event({ error: failedTask(record).object }));
    }
    this.#stream.end();
  }

  #chunk(delta: Readonly<Record<string, unknown>>): string {
    return event(chatChunk(this.#followed.record, this.#options.model, delta));
  }

  #write(...events: readonly string[]): void {
    this.#stream.writeOwn(events);
  }
}

/** A task that came to no answer. Nobody is to give it again unasked: what it did is done. */
export function failedTask(record: Followed['record']): OpenAiFault {
  const code = record.state === 'canceled' ? 'task_canceled' : 'task_failed';
  return new OpenAiFault(502, reasonOf(record), { code, headers: { 'x-should-retry': 'false' } });
}

function event(data: Readonly<Record<string, unknown>>): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
