/** Follows what a capsule says in a task until it is over or asks something. */

import { OncePerTurn } from '@svc/session/stream/once-per-turn.ts';
import type { TaskNews, TaskRecord } from '@svc/session/task/task-record.ts';
import type { TaskRecords } from '@svc/session/task-records.ts';
import { isAtRest } from '../core/at-rest.ts';
import { answerOf } from './objects.ts';

/** Hears what is said, in its order. */
export interface SpeechListener {
  /** The task is not in the queue any more. Called once, unless it never left it. */
  works(): void;
  /** `isNew` where a turn begins to speak, or a question or an answer stands by itself. Chunks of one turn of the event loop are one. */
  says(text: string, isNew: boolean): void;
  /** Nothing follows. */
  rests(): void;
}

/** The record of a task, and whether the listener also hears what it has said so far. */
export interface Followed {
  readonly record: TaskRecord;
  readonly fromStart: boolean;
}

/** Sends the listener what happens from this turn on. The returned function ends that. */
export function followSpeech(
  { record, fromStart }: Followed,
  records: Pick<TaskRecords, 'follow'>,
  listener: SpeechListener,
): () => void {
  const speech = new Speech(record, listener);
  const unfollow = records.follow(record, (news) => {
    if (speech.hear(news)) end();
  });
  function end(): void {
    unfollow();
    speech.end();
  }
  if (speech.begin(fromStart)) end();
  return end;
}

class Speech {
  readonly #record: TaskRecord;
  readonly #listener: SpeechListener;
  readonly #turn = new OncePerTurn(() => this.#pass());
  #works = false;
  /** Chunks that are not passed on yet. */
  #chunk = '';
  #isNew = true;
  /** What the turn that spoke last has said. */
  #said: string | null = null;

  constructor(record: TaskRecord, listener: SpeechListener) {
    this.#record = record;
    this.#listener = listener;
  }

  /** True where nothing follows. */
  begin(fromStart: boolean): boolean {
    const { state, response, isStale } = this.#record;
    if (state !== 'submitted') this.#begins();
    if (isAtRest(this.#record)) return this.#rest();
    if (fromStart && response !== null && !isStale) this.#add(response, true);
    return false;
  }

  hear(news: TaskNews): boolean {
    switch (news.kind) {
      case 'text':
        this.#begins();
        this.#add(news.text, news.isFirst);
        return false;
      case 'state':
        if (isAtRest(this.#record)) return this.#rest();
        if (this.#record.state !== 'submitted') this.#begins();
        return false;
      case 'response':
      case 'artifact':
      case 'call-ended':
        return false;
    }
  }

  end(): void {
    this.#turn.end();
    this.#chunk = '';
  }

  #begins(): void {
    if (this.#works) return;
    this.#works = true;
    this.#listener.works();
  }

  #add(text: string, isFirst: boolean): void {
    if (isFirst) {
      this.#turn.flush();
      this.#isNew = true;
      this.#said = '';
    }
    this.#said = (this.#said ?? '') + text;
    this.#chunk += text;
    this.#turn.schedule();
  }

  #pass(): void {
    const text = this.#chunk;
    if (text === '') return;
    this.#chunk = '';
    const isNew = this.#isNew;
    this.#isNew = false;
    this.#listener.says(text, isNew);
  }

  /** What was said piece by piece is not said once more; what was not, such as a question, is. */
  #rest(): true {
    this.#turn.flush();
    const answer = answerOf(this.#record);
    const isSaid = this.#record.state === 'completed' && answer?.trim() === (this.#said ?? '').trim();
    if (answer !== null && answer !== '' && !isSaid) this.#listener.says(answer, true);
    this.#listener.rests();
    return true;
  }
}
