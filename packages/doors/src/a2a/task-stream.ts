/** Encodes the events of one task as A2A has them, once for all clients that follow it. */

import type { TaskNews, TaskRecord } from '@svc/session/task/task-record.ts';
import type { TaskRecords } from '@svc/session/task-records.ts';
import { OncePerTurn } from '@svc/session/stream/once-per-turn.ts';
import { FanOut, type FanOutSink } from '../core/fan-out.ts';
import {
  artifactUpdate,
  callMetadata,
  eventJson,
  inputTimeoutExtension,
  responseId,
  statusUpdate,
  taskObject,
} from './objects.ts';

/** The streams of one task. It follows the task as long as there is a stream. */
export class TaskStream {
  readonly #record: TaskRecord;
  readonly #records: Pick<TaskRecords, 'follow'>;
  readonly #fanOut = new FanOut();
  /** Streams that end when the task asks a question. */
  readonly #untilQuestion = new Set<FanOutSink>();
  readonly #turn = new OncePerTurn(() => this.#pushText());
  /** Chunks of this turn of the event loop, which become one event. */
  #text = '';
  #append = true;
  #unfollow: () => void = () => {};

  constructor(record: TaskRecord, records: Pick<TaskRecords, 'follow'>) {
    this.#record = record;
    this.#records = records;
  }

  /** Returns the task as it is now, with which a stream begins. A sink that joins in this turn of the event loop misses nothing that follows. */
  snapshot(): string {
    return eventJson({ task: taskObject(this.#record, { historyLength: null, artifacts: true }) });
  }

  /** Adds a stream. With `untilQuestion` it ends when the task is done or asks, as the stream of a message does (A2A 1.0, 11.7). Without, it goes on to the end of the task. */
  join(sink: FanOutSink, { untilQuestion }: { readonly untilQuestion: boolean }): void {
    this.#turn.flush();
    if (this.#fanOut.size === 0) {
      this.#unfollow = this.#records.follow(this.#record, (news) => this.#hear(news));
    }
    this.#fanOut.join(sink);
    if (untilQuestion) this.#untilQuestion.add(sink);
  }

  leave(sink: FanOutSink): void {
    this.#fanOut.leave(sink);
    this.#untilQuestion.delete(sink);
    if (this.#fanOut.size === 0) this.#stop();
  }

  /** Ends every stream, however the task ends. */
  end(): void {
    this.#turn.flush();
    this.#stop();
    this.#fanOut.end();
  }

  #stop(): void {
    this.#unfollow();
    this.#turn.end();
    this.#text = '';
    this.#append = true;
  }

  #hear(news: TaskNews): void {
    const record = this.#record;
    if (news.kind === 'text') return this.#addText(news);
    this.#turn.flush();
    switch (news.kind) {
      case 'response': {
        const response = { id: responseId, name: responseId, text: record.response ?? '' };
        return this.#push(artifactUpdate(record, response, { append: false, lastChunk: true }));
      }
      case 'artifact':
        return this.#push(artifactUpdate(record, news.artifact, { append: false, lastChunk: true }));
      case 'call-ended':
        return this.#push(statusUpdate(record, callMetadata(news.call)));
      case 'state': {
        const metadata = news.isInputTimeout ? { [inputTimeoutExtension]: true } : undefined;
        this.#push(statusUpdate(record, metadata));
        if (record.isSettled) this.end();
        else if (record.state === 'input-required') this.#endAtQuestion();
      }
    }
  }

  #endAtQuestion(): void {
    this.#fanOut.flush();
    // Each stream leaves the set as it ends.
    for (const sink of this.#untilQuestion) sink.end();
  }

  #addText({ text, isFirst }: Extract<TaskNews, { kind: 'text' }>): void {
    if (isFirst) {
      this.#turn.flush();
      this.#append = false;
    }
    this.#text += text;
    this.#turn.schedule();
  }

  #pushText(): void {
    const text = this.#text;
    if (text === '') return;
    this.#text = '';
    const chunk = { id: responseId, name: responseId, text };
    this.#push(artifactUpdate(this.#record, chunk, { append: this.#append, lastChunk: false }));
    this.#append = true;
    this.#fanOut.flush();
  }

  #push(event: Readonly<Record<string, unknown>>): void {
    this.#fanOut.push(eventJson(event));
  }
}
