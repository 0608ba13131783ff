/** The banner of a question that waits: the exact text, and a box for the answer. */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import type { LiveNow, ViewedFacts } from '@svc/protocol/viewed-session.ts';
import type { Source } from '../store/source.ts';
import { mixesScripts } from '../text/odd-characters.ts';
import { SourceFault } from '../worker/byte-sources.ts';
import { TextBlock, theirs } from './theirs.tsx';

export interface BannerProps {
  readonly question: NonNullable<LiveNow['question']>;
  readonly taskText: string;
  readonly facts: ViewedFacts;
  readonly source: Source;
  /** Receives what came of an answer that did not count, when the question has gone; '' for one that did. */
  readonly onUnsent: (text: string) => void;
}

/** Nobody answers what appeared under the finger: only what was there for this long is taken. */
const settleMs = 300;

export function QuestionBanner({ question, taskText, facts, source, onUnsent }: BannerProps): JSX.Element {
  const [text, setText] = useState('');
  const [said, setSaid] = useState('');
  const [isSending, setSending] = useState(false);
  const [isFolded, setFolded] = useState(false);
  const isSettled = useSettled();
  const draft = useRef('');
  useEffect(() => () => onUnsent(draft.current === '' ? '' : `Your answer was not sent: ${draft.current}`), []);

  const send = async (): Promise<void> => {
    if (!isSettled || isSending || !source.isServed) return;
    setSending(true);
    setSaid('Sending…');
    try {
      const fault = await source.call(facts.id, 'tasks/answer', { id: question.task, wait: question.wait, text });
      setSaid(fault === '' ? 'Answered.' : fault);
      // The capsule says what waits; an answer that it took is not sent twice.
      if (fault !== '') return setSending(false);
      draft.current = '';
      onUnsent('');
    } catch (error) {
      if (!(error instanceof SourceFault)) throw error;
      setSaid(error.message);
      setSending(false);
    }
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      void send();
    }
  };

  return (
    <section class={`banner ${isFolded ? 'folded' : ''}`} aria-label="A question waits for you">
      <div class="banner-text">
        <h2>
          <button
            class="icon"
            aria-label={isFolded ? 'Show the question' : 'Fold the question'}
            aria-expanded={!isFolded}
            onClick={() => setFolded(!isFolded)}
          >
            <span class="chevron" />
          </button>
          A question waits for you
          <span class="faint theirs">{theirs((isFolded ? question.prompt : taskText).slice(0, 200))}</span>
        </h2>
        <TextBlock text={{ kind: 'text', text: question.prompt, more: 0 }} kind="asked" />
        {mixesScripts(question.prompt) && (
          <p class="note warn">Words in it mix letters of several writings that look alike.</p>
        )}
      </div>
      {facts.readOnly ? (
        <p class="note">This page may only read. svc answer, in a terminal, answers it.</p>
      ) : (
        <div class="answer">
          <label>
            <span class="off">Answer</span>
            <textarea
              rows={2}
              placeholder="Your answer"
              value={text}
              onInput={({ currentTarget }) => setText((draft.current = currentTarget.value))}
              onKeyDown={onKeyDown}
            />
          </label>
          <button class="button main" aria-disabled={!isSettled || isSending} onClick={() => void send()}>
            Answer
          </button>
          <output class="said theirs">{theirs(said)}</output>
        </div>
      )}
    </section>
  );
}

/** Whether what uses this has been on the screen for long enough. */
export function useSettled(): boolean {
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    // The second frame is drawn after the first one was.
    const frame = requestAnimationFrame(() => {
      requestAnimationFrame(() => {
        timer = setTimeout(() => setSettled(true), settleMs);
      });
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, []);
  return isSettled;
}
